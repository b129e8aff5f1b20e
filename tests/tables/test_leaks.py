"""Leaks are named, with the scores without them; what is merely useful is not."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from regard.tables import NPTClassifier
from regard.tables.fit_settings import FitSettings
from regard.tables.fitting import fit_problem
from regard.tables.leaks import MAX_ROWS, HeldOut, leaking_columns
from regard.tables.problem import read_problem
from tests.tables.conftest import REAL

SETTINGS = FitSettings(mode="in_context", weights=str(REAL))


def customers(rows: int = 240) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"age": rng.normal(40, 10, rows), "visits": rng.poisson(5, rows), "city": rng.choice(list("abc"), rows)}
    )
    left = frame["age"] / 10 + frame["visits"] + rng.normal(0, 3, rows) > 9
    frame["left"] = np.where(left, "yes", "no")
    return frame


def notes_of(frame: pd.DataFrame, target: str, tmp_path: Path, notes: list[str], **settings: object) -> list[str]:
    frame.to_csv(tmp_path / "table.csv", index=False)
    fit_problem(read_problem(tmp_path / "table.csv", target), FitSettings(**{**vars(SETTINGS), **settings}))
    return [line for line in notes if line.startswith("note: ")]


def test_a_table_without_leaks_has_no_note(tmp_path: Path, notes: list[str]):
    assert notes_of(customers(), "left", tmp_path, notes) == []


@pytest.mark.parametrize("empty", [True, False])
def test_a_column_that_gives_the_target_away_is_named(empty: bool, tmp_path: Path, notes: list[str]):
    """A reason that is filled only for those who left, or a refund that is paid to them."""
    frame, rng = customers(), np.random.default_rng(1)
    left = frame["left"] == "yes"
    refund = rng.normal(100, 10, len(frame))
    frame["refund paid"] = np.where(left, refund, np.nan if empty else refund - 100)
    (note,) = notes_of(frame, "left", tmp_path, notes, kinds={"refund paid": "number"})
    assert note.startswith("note: 'refund paid' (AUC ")
    assert "may give 'left' away; without it AUC 0." in note
    assert note.endswith("--ignore 'refund paid'")


def test_a_copy_of_a_number_is_named(tmp_path: Path, notes: list[str]):
    frame = customers()
    frame["age in months"] = (12 * frame["age"]).round(1)
    (note,) = notes_of(frame, "age", tmp_path, notes)
    assert note.startswith("note: 'age in months' (R² ")


def test_repeated_rows_are_counted_and_scored_apart(tmp_path: Path, notes: list[str]):
    frame = customers(250)
    (note,) = notes_of(pd.concat([frame, frame[:60]]), "left", tmp_path, notes)
    assert "of 62 held-out rows repeat training rows; AUC 0." in note
    assert note.endswith("on the others")


def test_rows_of_few_categories_repeat_by_chance(tmp_path: Path, notes: list[str]):
    assert notes_of(customers()[["visits", "city", "left"]], "left", tmp_path, notes) == []


def test_a_leak_is_found_in_a_table_sorted_by_class():
    """The first rows, as many as a tree is grown on, are all of one class."""
    left = np.arange(8000) >= MAX_ROWS + 500
    frame, target = pd.DataFrame({"refund": left * 100.0}), pd.Series(np.where(left, "yes", "no"))
    settings = {"mode": "in_context", "members": 1, "random_state": 0, "weights": REAL}
    model = NPTClassifier(**settings).fit(frame, target)
    held_out = HeldOut(model, frame[::100], target[::100], {"auc": 1.0})
    assert leaking_columns(held_out) == {"refund": 1.0}
