"""Small runs of every kind, served by threads in place of processes: what they do is the same."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from regard.serve.app import make_app
from regard.serve.limits import Limits
from regard.serve.served import in_thread
from regard.serve.server import make_serving
from regard.serve.serving import Serving
from regard.serve.settings import Settings
from regard.tables.network import pretrained
from tests.helpers import wait_until
from tests.tables.conftest import write_tiny_reader
from tests.view.runs import save_small, save_tables

TEMPLATE = """{% for m in messages %}<{{ m.role }}>{{ m.content }}
{% endfor %}
{% if add_generation_prompt %}<assistant>{% endif %}"""
LIMITS = Limits(rows=3, queue=4, context=200, max_tokens=150, chunk=16, inputs=32, body=2**20)


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("serve")
    names = ("gpt", "short", "transformer", "summariser", "fill", "label", "image-token")
    paths = {name: save_small(folder, name) for name in names}
    (paths["gpt"] / "chat_template.jinja").write_text(TEMPLATE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pretrained, "FOLDER", write_tiny_reader(tmp_path_factory.mktemp("reader")))
        classes, numbers = save_tables(folder)
    return {**paths, "classes": classes, "numbers": numbers}


class Web:
    """A client of a server in this process."""

    def __init__(self, serving: Serving, client: TestClient):
        self.serving, self.client = serving, client

    def post(self, route: str, **body):
        return self.client.post(f"/v1/{route}", json=body)


def open_web(paths: list[Path], settings: Settings) -> Iterator[Web]:
    serving = make_serving(paths, settings, in_thread)
    with TestClient(make_app(serving), base_url="http://127.0.0.1:8000", raise_server_exceptions=False) as client:
        wait_until(lambda: all(model.state != "loading" for model in serving.models.values()))
        yield Web(serving, client)


@pytest.fixture(scope="session")
def web(folders: dict[str, Path]) -> Iterator[Web]:
    yield from open_web(list(folders.values()), Settings(limits=LIMITS))
