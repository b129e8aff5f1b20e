"""HTTP routes of the viewer: each calls one method of the session. Page files are served by name from memory."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from regard.core.errors import UserError
from regard.tasks.recording import ViewInput
from regard.view.guard import HEADERS, refusal
from regard.view.page import page_files
from regard.view.session import Session

MEDIA_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


class RecordRequest(BaseModel):
    """The input of a run; a file is named by the digest that its upload returned."""

    text: str = ""
    target: str | None = None
    row: dict[str, str] | None = None
    image: str | None = None
    without: int | None = None
    alignment: str | None = None
    structure: str | None = None
    first: int = 1  # of the residues shown


def make_app(session: Session, host: str = "127.0.0.1") -> FastAPI:
    """The application, for a server bound to `host`."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)  # their pages load scripts from other sites

    @app.middleware("http")
    async def guard(request: Request, handle: Callable[[Request], Awaitable[Response]]) -> Response:
        refused = refusal(request.method, request.headers, host)
        answer = JSONResponse({"error": refused[1]}, refused[0]) if refused else await handle(request)
        answer.headers.update(HEADERS)
        return answer

    @app.exception_handler(UserError)
    async def report(_: Request, error: UserError) -> JSONResponse:
        return JSONResponse({"error": " ".join(str(error).split())}, 400)

    _add_page(app)
    _add_runs(app, session)
    _add_recordings(app, session)
    return app


def _add_page(app: FastAPI) -> None:
    files = page_files()

    @app.get("/")
    def index() -> Response:
        return page("index.html")

    @app.get("/page/{name}")
    def page(name: str) -> Response:
        if name not in files:
            return JSONResponse({"error": "no such page"}, 404)
        return Response(files[name], media_type=MEDIA_TYPES[Path(name).suffix])


def _add_runs(app: FastAPI, session: Session) -> None:
    @app.get("/api/runs")
    def runs() -> Any:
        return JSONResponse(session.describe())

    @app.post("/api/runs/{run}/record")
    def record(run: int, request: RecordRequest) -> Any:
        image = None if request.image is None else session.find_image(request.image)
        family = None
        if request.alignment is not None:
            family = session.find_family(request.alignment, request.structure, request.first)
        view_input = ViewInput(request.text, request.target, request.row, image, request.without, family)
        return JSONResponse(session.record(run, view_input))

    @app.post("/api/files/{kind}")
    async def upload(request: Request, kind: str, name: str = "") -> Any:
        return JSONResponse(await run_in_threadpool(session.upload, kind, name, await request.body()))

    @app.get("/api/runs/{run}/positions")
    def positions(run: int) -> Any:
        return JSONResponse(session.positions(run))

    @app.get("/api/runs/{run}/training")
    def training(run: int) -> Any:
        return JSONResponse(session.training(run))


def _add_recordings(app: FastAPI, session: Session) -> None:
    @app.get("/api/recordings/{number}/image")
    def image(number: int) -> Any:
        return JSONResponse(session.image(number))

    @app.get("/api/recordings/{number}/patches")
    def patches(number: int, attention: str, head: int | None = None) -> Any:
        return JSONResponse(session.patches(number, attention, head))

    @app.get("/api/recordings/{number}/rollout")
    def rollout(number: int, attention: str | None = None) -> Any:
        return JSONResponse(session.rollout(number, attention))

    @app.get("/api/recordings/{number}/family")
    def family(number: int) -> Any:
        return JSONResponse(session.family(number))

    @app.get("/api/recordings/{number}/residues")
    def residues(number: int, attention: str, head: int | None = None, sequence: int | None = None) -> Any:
        return JSONResponse(session.residues(number, attention, head, sequence))

    @app.get("/api/recordings/{number}/sequences")
    def sequences(number: int, attention: str, head: int | None = None) -> Any:
        return JSONResponse(session.sequences(number, attention, head))

    @app.get("/api/recordings/{number}/overview")
    def overview(number: int) -> Any:
        return JSONResponse(session.overview(number))

    @app.get("/api/recordings/{number}/head")
    def head(
        number: int, attention: str, head: int, first: int = 0, last: int | None = None, max_size: int | None = None
    ) -> Any:
        return JSONResponse(session.head(number, attention, head, first, last, max_size))

    @app.get("/api/recordings/{number}/alignment")
    def alignment(number: int, attention: str | None = None, head: int | None = None) -> Any:
        return JSONResponse(session.alignment(number, attention, head))
