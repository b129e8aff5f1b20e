"""Targets that may not be what was meant are named: classes spelled in several ways, single rows, absurd numbers."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from regard.tables.plain_numbers import percent_text
from regard.tables.problem import Problem
from regard.tables.target_checks import check_target
from tests.command import regard


def lines_of(cells: list, classifies: bool) -> list[str]:
    target = pd.Series(cells, name="t")
    return list(
        check_target(Problem(pd.DataFrame({"x": cells}), target, 10 + np.arange(len(cells)), 0, classifies, ""))
    )


def test_classes_that_differ_in_case_or_spaces_are_named():
    lines = lines_of([*["yes", "Yes", "YES "] * 5, *["no"] * 9], True)
    assert lines == ["'t': 'YES ' and 'Yes' and 'yes' are 3 classes; write them alike if they are meant to be one"]
    assert lines_of(["yes", "no"] * 9, True) == []


def test_a_class_with_a_single_row_is_named():
    (line,) = lines_of(["a", "a", "b", "b", "maybe"], True)
    assert line.startswith("'t': 'maybe' has a single row, which cannot be both learned and scored")
    (line,) = lines_of(["a", "a", "b", "c", "d", "e"], True)
    assert line.startswith("'t': 'b', 'c', 'd', … (4 classes) have a single row")


def test_an_absurd_number_is_named():
    numbers = np.random.default_rng(0).normal(3, 1, 400)
    assert lines_of(numbers.tolist(), False) == []
    assert lines_of(np.exp(2 * numbers).tolist(), False) == []  # a long tail is no error
    assert lines_of([0.0] * 300 + [1e9] * 100, False) == []
    numbers[7] = 4e9
    (line,) = lines_of(numbers.tolist(), False)
    assert line.startswith("'t': row 17 (counted from 0) holds 4,000,000,000, where half of the numbers lie between 2.")


@pytest.mark.parametrize(
    ("probability", "text"),
    [(0.657, "66%"), (0.999, "99.9%"), (0.9996, ">99.9%"), (1.0, ">99.9%"), (0.004, "0.4%"), (0.0001, "<0.1%")],
)
def test_a_probability_is_never_said_to_be_sure(probability: float, text: str):
    assert percent_text(probability) == text


def test_anomalies_need_other_rows(tmp_path: Path, capsys: pytest.CaptureFixture):
    (tmp_path / "one.csv").write_text("a,b\n1,2\n")
    assert regard("anomalies", tmp_path / "one.csv") == 1
    assert "one.csv: has one row, so there is nothing to compare with" in capsys.readouterr().err


def test_in_context_nothing_is_trained_so_more_time_is_not_proposed(tmp_path: Path, capsys: pytest.CaptureFixture):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=60), "y": rng.normal(size=60)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    words = ["--target", "y", "--mode", "in_context", "--out", tmp_path / "run"]
    assert regard("fit", tmp_path / "t.csv", *words) == 0
    seen = capsys.readouterr().err
    assert "--time-limit" not in seen
    assert "try more rows or --mode auto" in seen
