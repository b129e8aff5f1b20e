from pathlib import Path

import pytest

from regard.tables.network import pretrained
from tests.tables.conftest import write_tiny_reader
from tests.view.browser import browser, watched
from tests.view.runs import save_small, save_tables

__all__ = ["browser", "watched"]  # fixtures: one browser for all pages


class Runs:
    """Runs by their name, made when they are first wanted."""

    def __init__(self, folder: Path):
        self.folder = folder

    def __getitem__(self, name: str) -> Path:
        return self.folder / name if (self.folder / name).exists() else save_small(self.folder, name)


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    return Runs(tmp_path_factory.mktemp("view"))


@pytest.fixture(scope="session")
def tables(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Made with a tiny network in place of the pretrained one, which a run folder then holds itself."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pretrained, "FOLDER", write_tiny_reader(tmp_path_factory.mktemp("reader")))
        return save_tables(tmp_path_factory.mktemp("tables"))
