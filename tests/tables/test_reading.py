"""Tables with the slips that people make in them: what is read all the same, and which cell a line names."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from regard.data.tables.files import read_table
from tests.command import regard as command

QUICK = ("--mode", "in_context")


def german(folder: Path, name: str, **cells: tuple[int, str]) -> Path:
    """A table with decimal commas; `cells` replaces one of a column: a row and what stands there instead."""
    random = np.random.default_rng(0)
    numbers = random.uniform(0, 100, 80).round(2)
    frame = pd.DataFrame({"a": numbers, "b": random.choice(["u", "v"], 80), "y": (2 * numbers + 10).round(2)})
    frame = frame.map(lambda cell: str(cell).replace(".", ",")).astype(object)
    for column, (row, text) in cells.items():
        frame.loc[row, column] = text
    frame.to_csv(folder / name, sep=";", index=False)
    return folder / name


def test_the_word_among_decimal_commas_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    table = german(tmp_path, "word.csv", a=(7, "unbekannt"))
    assert command("fit", table, "--target", "y", "--out", tmp_path / "x", *QUICK) == 0
    assert "'a': 79 of 80 cells are numbers, but not 'unbekannt': all are read as text" in capsys.readouterr().err


def test_the_word_in_a_target_of_decimal_commas_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    table = german(tmp_path, "word.csv", y=(7, "ca. 50"))
    assert command("fit", table, "--target", "y", "--out", tmp_path / "x", *QUICK) == 1
    assert "'y': 79 of 80 cells are numbers, but row 7 (counted from 0) holds 'ca. 50'" in capsys.readouterr().err
    assert command("fit", table, "--target", "y", "--out", tmp_path / "x", "--task", "regress", *QUICK) == 1
    assert "row 7 (counted from 0): 'ca. 50' is not a number" in capsys.readouterr().err


def test_new_rows_are_refused_by_the_cell_that_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    run = tmp_path / "run"
    assert command("fit", german(tmp_path, "whole.csv"), "--target", "y", "--out", run, *QUICK) == 0
    capsys.readouterr()
    assert command("predict", run, german(tmp_path, "word.csv", a=(3, "unbekannt"))) == 2
    error = capsys.readouterr().err
    assert "column 'a', row 3 (counted from 0): 'unbekannt' is not a number; leave unknown cells empty" in error
    frame = pd.read_csv(tmp_path / "whole.csv", sep=";", dtype=str).assign(y="")
    frame.to_csv(tmp_path / "commas.csv", index=False)  # quotes the cells
    assert command("predict", run, tmp_path / "commas.csv") == 0
    answer = capsys.readouterr()
    assert "is read as" in answer.err
    assert command("predict", run, tmp_path / "whole.csv") == 0
    assert capsys.readouterr().out == answer.out


@pytest.mark.parametrize("mark", ["k.A.", "k. A.", "keine Angabe", "n.a.", "-"])
def test_what_stands_for_an_unknown_number_leaves_it_a_number(mark: str, tmp_path: Path):
    from regard.data.tables.files import read_table

    frame = read_table(german(tmp_path, "gaps.csv", a=(3, mark)))
    assert frame["a"].dtype == "float64"
    assert frame["a"].isna().sum() == 1
