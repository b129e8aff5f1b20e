"""Rows that repeat training rows are counted, those that are equal by chance are not, and no score is made of them."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from regard.tables import NPTClassifier, NPTRegressor
from regard.tables.scores import known_rows
from tests.command import regard
from tests.tables.conftest import REAL
from tests.tables.test_leaks import notes_of


def noise(rows: int = 100) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame({
        "x": rng.normal(size=rows).round(3), "c": rng.choice(list("ab"), rows), "y": rng.normal(size=rows).round(2)
    })  # fmt: skip


def policies(rows: int = 900, zeros: float = 0.9) -> pd.DataFrame:
    """Few ages, cars and zones: most rows have the cells of another one, and most claims are 0."""
    rng = np.random.default_rng(0)
    claim = np.where(rng.random(rows) < zeros, 0.0, rng.gamma(2, 500, rows).round(2))
    return pd.DataFrame({"age": rng.integers(18, 80, rows), "car": rng.choice(list("abc"), rows), "claim": claim})


def test_a_table_of_copies_alone_is_no_score(tmp_path: Path, notes: list[str]):
    """Each row three times, and the target is noise."""
    lines = notes_of(pd.concat([noise(150)] * 3), "y", tmp_path, notes)
    assert lines == [
        "note: all 90 held-out rows repeat training rows: the score says nothing about new rows; drop the duplicates "
        "first"
    ]


@pytest.mark.parametrize("zeros", [0.0, 0.9, 0.98])
def test_rows_that_are_equal_by_chance_are_not_named(zeros: float, tmp_path: Path, notes: list[str]):
    assert not [line for line in notes_of(policies(zeros=zeros), "claim", tmp_path, notes) if "repeat" in line]


def test_no_score_of_rows_that_are_all_of_one_class(tmp_path: Path, notes: list[str]):
    """The rare class was copied until it is as frequent as the other one."""
    frame = noise(300).assign(y="no")
    frame.loc[:14, "y"] = "yes"
    (note,) = [one for one in notes_of(pd.concat([frame, *[frame[:15]] * 15]), "y", tmp_path, notes) if "repeat" in one]
    assert "held-out rows repeat training rows: the score says little about new rows" in note
    assert "AUC" not in note


def test_no_score_of_few_rows(tmp_path: Path, notes: list[str]):
    frame = noise(100)
    (note,) = [one for one in notes_of(pd.concat([frame, frame[:50]]), "y", tmp_path, notes) if "repeat" in one]
    assert "on the others" not in note


def test_training_rows_are_told_from_rows_that_are_like_them():
    frame, rng = policies(), np.random.default_rng(1)
    settings = {"mode": "in_context", "members": 1, "random_state": 0, "weights": REAL}
    model = NPTRegressor(**settings).fit(frame[["age", "car"]], frame["claim"])
    later = frame[["age", "car"]].iloc[rng.permutation(len(frame))]
    assert not known_rows(model, later, frame["claim"]).any()
    assert known_rows(model, frame[["age", "car"]][50:150], frame["claim"][50:150]).all()
    classes = NPTClassifier(**settings).fit(frame[["age", "car"]], frame["claim"] > 0)
    assert not known_rows(classes, later, frame["claim"] > 0).any()


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture) -> Path:
    noise().to_csv(tmp_path / "t.csv", index=False)
    words = ["--target", "y", "--mode", "in_context", "--out", tmp_path / "run"]
    assert regard("fit", tmp_path / "t.csv", *words) == 0
    capsys.readouterr()
    return tmp_path / "run"


def test_evaluate_says_that_rows_are_training_rows(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture):
    assert regard("evaluate", run, tmp_path / "t.csv", "--json") == 0
    seen = capsys.readouterr()
    assert "note: 100 of 100 rows are training rows of the run: their score says nothing about new rows" in seen.err
    assert json.loads(seen.out)["training_rows"] == 100
    noise().assign(x=lambda frame: frame["x"] + 1).to_csv(tmp_path / "new.csv", index=False)
    assert regard("evaluate", run, tmp_path / "new.csv", "--json") == 0
    seen = capsys.readouterr()
    assert "training rows" not in seen.err
    assert "training_rows" not in json.loads(seen.out)


def test_rows_of_a_run_are_not_added_again(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture):
    assert regard("fit", "--add", tmp_path / "t.csv", "--out", run) == 1
    assert f"every row is in {run} already, with its target: there is nothing to add" in capsys.readouterr().err
    new = noise(30).assign(x=lambda frame: frame["x"] + 1)
    pd.concat([noise()[:40], new]).to_csv(tmp_path / "more.csv", index=False)
    assert regard("fit", "--add", tmp_path / "more.csv", "--out", run, "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["rows"], said["total"]) == (30, 130)
    assert said["notes"] == ["40 of 70 rows are in the run already: skipped"]
