"""The pages are taken at their word: what a reader can type is run, or, where that needs hours or a network, read."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from regard.tables.network import pretrained
from tests.documents import programs, shelf
from tests.documents.pages import ROOT, blocks_of, commands_of, every_command, names_of, pages, python_of
from tests.documents.reader import Reader
from tests.tables.conftest import write_small_reader


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    folder, before = tmp_path_factory.mktemp("reader"), Path.cwd()
    shelf.fill(folder)
    os.chdir(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pretrained, "FOLDER", write_small_reader(tmp_path_factory.mktemp("weights")))
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

    shown = {word for command in every_command() for word in command.words}
    hidden = {"work"}  # what a study starts by itself
    for name in app:
        if not name.startswith("-"):
            assert name in shown, name
            assert {one for one in app[name] if not one.startswith("-")} - hidden <= shown, name


@pytest.mark.parametrize("page", pages())
def test_nothing_on_a_page_is_passed_over(page: str):
    """A block is Python, commands, or the listing of a folder; a verb that is spoken of is one."""
    from regard.cli.app import app

    assert [line for line in blocks_of(page) if not line.split()[0].endswith("/")] == []
    new = set(re.findall(r"new-file=regard/tasks/(\w+)/verb\.py", (ROOT / page).read_text()))  # of a worked example
    for verb in names_of(page):
        if verb[-1] in new:
            continue
        assert verb[0] in app, verb
        assert len(verb) == 1 or verb[1] in app[verb[0]], verb


def test_commands_are_found_in_blocks_and_in_sentences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = "Say `regard view` or `regard\nshow runs/x`.\n\n    make docs   # a site\n    cat x\n\n| `regard doctor` |\n"
    (tmp_path / "a.md").write_text(text + "\n    curl x\n\n    regard completion bash > ~/a\n")
    monkeypatch.setattr("tests.documents.pages.ROOT", tmp_path)
    result = [(" ".join(one.words), one.into) for one in commands_of("a.md")]
    expected = ["regard show runs/x", "make docs", "regard doctor", "regard completion bash"]
    assert result == [(words, "~/a" if "bash" in words else None) for words in expected]
    assert blocks_of("a.md") == ["curl x"]
    assert names_of("a.md") == [("view",)]


@pytest.mark.parametrize(
    "words",
    [
        ["make", "no-such-target"],
        ["pip", "install", "torch==0.0.1"],
        ["mkdir", "no/such/folder"],
        ["python", "benchmarks/attention.py", "--no-such-option"],
    ],
)
def test_nonsense_given_to_a_program_is_noticed(words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AssertionError):
        programs.run(words)


def test_targets_of_make_are_in_the_makefile():
    targets = (ROOT / "Makefile").read_text()
    for command in every_command():
        if command.words[0] == "make":
            assert f"\n{command.words[1]}:" in targets, command
