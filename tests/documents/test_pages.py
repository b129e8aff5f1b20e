"""The pages are taken at their word: every command and every block of Python on them is run."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.documents import shelf
from tests.documents.pages import ROOT, commands_of, every_command, pages, python_of
from tests.documents.reader import Reader


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    folder, before = tmp_path_factory.mktemp("reader"), Path.cwd()
    shelf.fill(folder)
    os.chdir(folder)
    with pytest.MonkeyPatch.context() as patch:
        yield Reader(patch)
    os.chdir(before)


@pytest.mark.parametrize("page", pages())
def test_what_a_page_says_runs(page: str, reader: Reader):
    owners = every_command()
    for command in commands_of(page):
        if owners.get(command) == page:
            reader.run(command)
    reader.python(page, python_of(page))


def test_every_verb_stands_on_some_page():
    from regard.cli.app import app

    told = {word for command in every_command() for word in command.words}
    hidden = {"work"}  # what a study starts by itself
    for name in app:
        if not name.startswith("-"):
            assert name in told, name
            assert {one for one in app[name] if not one.startswith("-")} - hidden <= told, name


def test_what_make_is_told_is_in_the_makefile():
    targets = (ROOT / "Makefile").read_text()
    for command in every_command():
        if command.words[0] == "make":
            assert f"\n{command.words[1]}:" in targets, command
