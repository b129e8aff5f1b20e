"""Folders to spoil: one of each family on a shelf that stays as it is, and copies of them."""

from pathlib import Path
from typing import Any

import pytest

from tests.interop.families import save

SOURCES = ["gpt2", "llama", "neox", "bert-fill", "bert-label", "vit", "marian", "t5"]


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder of each family, never changed: tests copy from it."""
    folder = tmp_path_factory.mktemp("shelf")
    for name in SOURCES:
        save(name, folder / name)
    return folder


@pytest.fixture
def copy(shelf: Path, tmp_path: Path) -> Any:
    def copied(name: str) -> Path:
        folder = tmp_path / "inside" / name
        folder.mkdir(parents=True)
        for file in (shelf / name).iterdir():
            (folder / file.name).write_bytes(file.read_bytes())
        return folder

    return copied
