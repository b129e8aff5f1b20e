"""The application: routes, each a few lines that turn a body into a job and events into an answer."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware

from regard.core.version import VERSION
from regard.serve import page
from regard.serve.disconnect import ClientDisconnectError
from regard.serve.errors import ApiError, bad
from regard.serve.gate import DETAILS, Gate
from regard.serve.routes_ask import add_ask_routes
from regard.serve.routes_text import add_text_routes
from regard.serve.served import ServedModel
from regard.serve.serving import ERRORS, Serving


def make_app(serving: Serving) -> Any:
    """The application for a server; the outermost layer is the gate."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        for model in serving.models.values():
            model.start()
        yield
        await asyncio.gather(*(model.stop() for model in serving.models.values()))

    app = FastAPI(
        title="regard", version=VERSION, lifespan=lifespan, docs_url=None, redoc_url=None, redirect_slashes=False
    )
    add_text_routes(app, serving)
    add_ask_routes(app, serving)
    _add_state(app, serving)
    page.add_page(app)
    _add_errors(app)
    if serving.settings.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(serving.settings.origins),
            allow_methods=["GET", "POST"],
            allow_headers=["authorization", "content-type"],
        )
    return Gate(app, serving.settings, lambda path, status: serving.metrics.http.labels(path, status).inc())


def _add_state(app: FastAPI, serving: Serving) -> None:
    @app.get("/v1/models", responses=ERRORS)
    async def models() -> Any:
        """The models that are served."""
        return {"object": "list", "data": [_described(model) for model in serving.models.values()]}

    @app.get("/v1/models/{name:path}", responses=ERRORS)
    async def model(name: str) -> Any:
        if name not in serving.models:
            raise serving.no_model(name)
        return _described(serving.models[name])

    @app.get("/health")
    async def health() -> Any:
        """Whether the server runs."""
        return {"status": "ok"}

    @app.get("/ready", responses={503: {"description": "Not all models are loaded, or the server is stopping"}})
    async def ready() -> Any:
        """Whether every model answers."""
        states = {model.name: model.state for model in serving.models.values()}
        fine = not serving.draining and all(state == "ready" for state in states.values())
        return JSONResponse({"ready": fine, "models": states}, 200 if fine else 503)

    @app.get("/metrics")
    async def metrics() -> Any:
        """Metrics in the text format of Prometheus."""
        return Response(serving.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


def _described(model: ServedModel) -> dict[str, Any]:
    described: dict[str, Any] = {"id": model.name, "object": "model", "created": model.created, "owned_by": "regard"}
    described["state"] = model.state
    if model.info is not None:
        info = model.info
        described |= {"kind": info.kind, "task": info.task, "routes": info.routes, "hint": info.hint}
        described |= {"max_model_len": info.context, "example": info.example}
    return described


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(ApiError)
    async def api_error(_: Request, error: ApiError) -> Response:
        return JSONResponse(error.body, error.status, error.headers)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        place = [str(part) for part in first["loc"] if part != "body"]
        name = ".".join(place)[:200]
        message = f"{name}: {first['msg']}" if name else f"the body: {first['msg']}"
        return JSONResponse(bad(message, place[0] if place else None).body, 400)

    @app.exception_handler(HTTPException)
    async def http_error(request: Request, error: HTTPException) -> Response:
        status = 400 if error.status_code == 422 else error.status_code
        message = f"{request.method} {request.url.path[:200]}: {error.detail}"
        return JSONResponse(ApiError(status, message).body, status, error.headers)

    @app.exception_handler(ClientDisconnectError)
    async def gone(request: Request, _: ClientDisconnectError) -> Response:
        request.scope[DETAILS]["cancelled"] = True
        return Response(status_code=499)  # nobody reads it
