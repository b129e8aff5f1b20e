"""The notebooks in examples: valid, without outputs, and every cell runs, with a few steps of training."""

import ast
import json
import re
from pathlib import Path

import pytest

from tests.documents.pages import ROOT

BOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
FEW_STEPS = 3


def code_cells(path: Path) -> list[str]:
    book = json.loads(path.read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in book["cells"] if cell["cell_type"] == "code"]


@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    for number, source in enumerate(code_cells(path)):
        tree = ast.parse(re.sub(r"(?m)^STEPS = \d+$", f"STEPS = {FEW_STEPS}", source))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        where = f"{path.name}, cell {number}"
        exec(compile(tree, where, "exec"), names)
        if isinstance(last, ast.Expr):  # what a notebook would show
            shown = eval(compile(ast.Expression(last.value), where, "eval"), names)
            assert shown is None or repr(shown)


@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_valid_and_has_no_outputs(path: Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    book = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in book.cells)
    assert book.cells[0].cell_type == "markdown"
    for target in re.findall(r"\]\(([^)]+)\)", "\n".join(cell.source for cell in book.cells)):
        assert (path.parent / target).exists(), target


def test_there_is_a_notebook_of_each_job() -> None:
    jobs = ["attention", "classify", "forecast", "images", "language_model", "proteins", "table", "translation"]
    assert [path.stem for path in BOOKS] == jobs
