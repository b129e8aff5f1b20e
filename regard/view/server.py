"""The page's server: routes only, each of which asks the desk. Files are those of the page, by name, from memory."""

import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from regard.core.errors import UserError
from regard.view.answers import Desk
from regard.view.guard import HEADERS, refusal
from regard.view.page import page_files
from regard.view.recording import Given

PORT = 7417
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


class Input(BaseModel):
    """What a person has typed, or the digest of a picture that was sent before."""

    text: str = ""
    target: str | None = None
    row: dict[str, str] | None = None
    picture: str | None = None


def make_app(desk: Desk, host: str = "127.0.0.1") -> FastAPI:
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)  # their pages would load scripts from elsewhere
    files = page_files()

    @app.middleware("http")
    async def guard(request: Request, ask: Callable[[Request], Awaitable[Response]]) -> Response:
        refused = refusal(request.method, request.headers, host)
        answer = JSONResponse({"error": refused[1]}, refused[0]) if refused else await ask(request)
        answer.headers.update(HEADERS)
        return answer

    @app.exception_handler(UserError)
    async def complain(_: Request, error: UserError) -> JSONResponse:
        return JSONResponse({"error": " ".join(str(error).split())}, 400)

    @app.get("/")
    def index() -> Response:
        return page("index.html")

    @app.get("/page/{name}")
    def page(name: str) -> Response:
        if name not in files:
            return JSONResponse({"error": "there is no such page"}, 404)
        return Response(files[name], media_type=KINDS[Path(name).suffix])

    @app.get("/api/runs")
    def runs() -> Any:
        return JSONResponse(desk.describe())

    @app.post("/api/runs/{run}/record")
    def record(run: int, given: Input) -> Any:
        image = None if given.picture is None else desk.kept(given.picture)
        return JSONResponse(desk.record(run, Given(given.text, given.target, given.row, image)))

    @app.post("/api/pictures")
    async def take(request: Request, name: str = "") -> Any:
        return JSONResponse(await run_in_threadpool(desk.take, name, await request.body()))

    @app.get("/api/runs/{run}/positions")
    def positions(run: int) -> Any:
        return JSONResponse(desk.positions(run))

    @app.get("/api/runs/{run}/training")
    def training(run: int) -> Any:
        return JSONResponse(desk.training(run))

    @app.get("/api/recordings/{number}/image")
    def image(number: int) -> Any:
        return JSONResponse(desk.seen(number))

    @app.get("/api/recordings/{number}/patches")
    def patches(number: int, look: str, head: int | None = None) -> Any:
        return JSONResponse(desk.patches(number, look, head))

    @app.get("/api/recordings/{number}/rollout")
    def rollout(number: int, look: str | None = None) -> Any:
        return JSONResponse(desk.rollout(number, look))

    @app.get("/api/recordings/{number}/overview")
    def overview(number: int) -> Any:
        return JSONResponse(desk.overview(number))

    @app.get("/api/recordings/{number}/head")
    def head(
        number: int, look: str, head: int, first: int = 0, last: int | None = None, most: int | None = None
    ) -> Any:
        return JSONResponse(desk.head(number, look, head, first, last, most))

    @app.get("/api/recordings/{number}/alignment")
    def alignment(number: int, look: str | None = None, head: int | None = None) -> Any:
        return JSONResponse(desk.alignment(number, look, head))

    return app


def bind(host: str, port: int | None) -> socket.socket:
    """A socket to be served on: the port that is asked for, else the usual one, else any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for choice in (PORT, 0) if port is None else (port,):
        place = socket.socket(family, socket.SOCK_STREAM)
        place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            place.bind((host, choice))
            place.listen()  # who comes before the first answer waits, and nobody else gets the port
        except (OSError, OverflowError) as error:
            place.close()
            why = getattr(error, "strerror", None) or str(error)
            if choice == PORT and port is None:
                continue
            raise UserError(f"{host}:{choice}: cannot be served ({why}); choose another --port or --host") from None
        return place
    raise UserError(f"{host}: no port is free")


def serve(desk: Desk, place: socket.socket, host: str) -> None:
    """Answer until Ctrl-C."""
    import uvicorn

    config = uvicorn.Config(make_app(desk, host), log_level="warning", access_log=False, server_header=False)
    uvicorn.Server(config).run(sockets=[place])
