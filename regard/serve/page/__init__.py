"""Two pages in the viewer's look, with nothing from elsewhere: one to try a model, one that lists the routes."""

from pathlib import Path
from typing import Any

from fastapi import FastAPI, Response

from regard.serve.errors import ApiError
from regard.view.page import page_files

FOLDER = Path(__file__).parent
TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}


def add_page(app: FastAPI) -> None:
    """Files are read once: names in requests never reach the file system."""
    files = {file.name: file.read_bytes() for file in FOLDER.iterdir() if file.suffix in TYPES}
    files["style.css"] = page_files()["style.css"]

    def page(name: str) -> Response:
        if name not in files:
            raise ApiError(404, "no such page")
        return Response(files[name], media_type=TYPES[Path(name).suffix], headers={"Cache-Control": "no-store"})

    @app.get("/", include_in_schema=False)
    async def index() -> Any:
        return page("index.html")

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Any:
        return page("docs.html")

    @app.get("/page/{name}", include_in_schema=False)
    async def file(name: str) -> Any:
        return page(name)
