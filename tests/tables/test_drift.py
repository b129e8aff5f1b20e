"""Drift: found in rows that differ, silent for rows that do not, and never in the way of a prediction."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.stats import chi2, ks_2samp
from sklearn.metrics import roc_auc_score

from regard.core.errors import ConfigError
from regard.tables import NPTClassifier, drift
from regard.tables.beyond_range import _by_chance, beyond_range
from regard.tables.column_drift import _normal_score, column_drift, kolmogorov_smirnov
from regard.tables.encode.columns import Columns
from tests.command import regard as command

MANY = [f"k{number}" for number in range(150)]


def some_rows(count: int, seed: int, shift: float = 0.0, cities: tuple[str, ...] = ("a", "b", "c")) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    return pd.DataFrame({
        "income": random.normal(41 + shift, 8, count),
        "age": np.where(random.random(count) < 0.2, np.nan, random.integers(20, 70, count)),
        "city": random.choice(cities, count),
        "street": random.choice(MANY, count),  # most of its categories are new in new rows
        "note": [" ".join(random.choice(["sun", "rain", "wind", "snow", "fog"], 6)) for _ in range(count)],
        "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 60, count), unit="D"),
    })  # fmt: skip


def fitted(rows: pd.DataFrame) -> NPTClassifier:
    model = NPTClassifier(mode="in_context", members=1, random_state=0)
    return model.fit(rows, np.where(np.arange(len(rows)) % 2, "yes", "no"))


@pytest.mark.usefixtures("real_reader")
def test_rows_from_the_same_source_do_not_differ():
    for seed in range(4):
        rows = some_rows(240, seed)
        found = fitted(rows[:140]).drift(rows[140:])
        assert not found.differs
        assert found.low <= found.auc <= found.high
        assert 0.35 < found.auc < 0.65
        assert found.columns == ()


@pytest.mark.usefixtures("real_reader")
def test_identifiers_are_new_by_nature():
    known, new = (
        some_rows(200, seed).assign(
            id=[f"H{start + number:04d}" for number in range(200)], row=range(start, start + 200)
        )
        for seed, start in ((0, 0), (1, 200))
    )
    found = drift.find_drift(fitted(known), new)
    assert not found.differs
    assert not {"id", "row"} & {one.name for one in found.columns}


@pytest.mark.usefixtures("real_reader")
def test_rows_that_differ_are_told_apart_and_the_columns_named():
    model = fitted(some_rows(140, 0))
    found = model.drift(some_rows(90, 1, 20.0, ("a",)))
    assert found.differs
    assert found.auc > 0.9
    assert [one.name for one in found.columns] == ["income", "city"]
    assert found.columns[0].change == "mean 41.6 → 60.5"
    assert found.columns[1].change.startswith("'a' 3")
    assert found.columns[1].change.endswith("→ 100%")
    words = model.drift(some_rows(90, 1).assign(note="quite something else 7"))
    assert words.differs
    assert words.columns[0].name == "note"


def test_the_same_rows_do_not_differ_from_themselves():
    rows = some_rows(120, 0)
    assert not fitted(rows).drift(rows).differs
    assert not fitted(rows).drift(pd.concat([rows[:60], some_rows(60, 5)])).differs
    assert fitted(rows.assign(income=1.0)[["income"]]).drift(rows.assign(income=1.0)).auc == 0.5


def test_distances_are_those_of_others():
    random = np.random.default_rng(0)
    old, new = random.normal(size=80).round(1), random.normal(0.4, 1.5, 60).round(1)
    assert kolmogorov_smirnov(old, new) == pytest.approx(ks_2samp(old, new).statistic)
    for freedom in (1, 4, 30):
        limit = chi2.isf(0.001, freedom)
        assert _normal_score(limit, freedom) == pytest.approx(3.09, abs=0.08)
    score, truth = torch.from_numpy(random.random(90).round(1)), torch.from_numpy(random.random(90) < 0.4)
    area, error = drift._auc(score, truth)
    assert area == pytest.approx(roc_auc_score(truth, score))
    assert 0.04 < error < 0.08


def test_chance_is_not_named():
    """Of forty columns that do not differ, none is named; one that is missing more often is."""
    random = np.random.default_rng(0)
    frame = pd.DataFrame({f"n{number}": random.normal(size=300) for number in range(20)})
    for number in range(20):
        frame[f"c{number}"] = random.choice(MANY[: 3 * number + 2], 300)
    frame["gap"] = np.where(np.arange(300) < 200, 1.0, np.nan)
    columns = Columns.fit(frame, {f"c{number}": "category" for number in range(20)})
    found = column_drift(columns, torch.from_numpy(columns.encode(frame).values), np.arange(300) >= 200)
    assert [(one.name, one.change) for one in found] == [("gap", "missing 0% → 100%")]


def test_few_rows_and_dates_alone_cannot_be_compared():
    rows = some_rows(60, 0)
    with pytest.raises(ConfigError, match="at least 50 rows"):
        fitted(rows).drift(rows[:49])
    with pytest.raises(ConfigError, match="no column to compare but dates"):
        fitted(rows[["day"]]).drift(rows)


def test_a_trend_beyond_the_training_rows_is_told(tmp_path: Path, capsys: pytest.CaptureFixture):
    fitted(some_rows(80, 0)).save(tmp_path / "run")
    later = some_rows(12, 1).assign(day="2024-06-01", age=np.arange(12.0))
    later.to_csv(tmp_path / "later.csv", index=False)
    assert command("predict", tmp_path / "run", tmp_path / "later.csv") == 0
    said = capsys.readouterr().err
    last = some_rows(80, 0)["day"].max()
    assert f"'day': 100% of the rows lie after {last:%Y-%m-%d}, the last training date: a trend is hardly" in said
    assert "'age': 100% of the rows lie below 20, the smallest training value" in said
    assert "'income'" not in said


def test_rows_beyond_the_range_by_chance_are_not_told():
    lines = 0
    for seed in range(30):
        rows = some_rows(120, seed)[["income", "age", "day"]]
        columns = Columns.fit(rows[:40])
        known = SimpleNamespace(values=torch.from_numpy(columns.encode(rows[:40]).values))
        lines += len(list(beyond_range(SimpleNamespace(columns_=columns, tables_=[known]), rows[40:])))
    assert lines == 0
    assert _by_chance(2, 3, 4) == pytest.approx(3 / 7 * 2 / 6)


def test_predict_says_that_rows_differ(
    tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch, real_reader: Any
):
    fitted(some_rows(100, 0)).save(tmp_path / "run")
    for name, rows in (("same", some_rows(60, 1)), ("other", some_rows(60, 1, 20.0)), ("few", some_rows(40, 1, 20.0))):
        rows.to_csv(tmp_path / f"{name}.csv", index=False)
        assert command("predict", tmp_path / "run", tmp_path / f"{name}.csv") == 0
        said = capsys.readouterr().err
        assert ("the rows differ from the training rows (a classifier" in said) == (name == "other"), name
        assert ("mostly in income (mean 4" in said) == (name == "other"), name
    monkeypatch.setattr(drift, "find_drift", lambda *_: 1 / 0)  # whatever goes wrong, predictions come
    assert command("predict", tmp_path / "run", tmp_path / "other.csv") == 0
    assert capsys.readouterr().out.count("\n") == 61
