"""Rows are held out at random, by time or by group, and dates that let a random split look ahead are noticed."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.core.errors import ConfigError
from regard.tables.fit_settings import FitSettings
from regard.tables.fitting import fit_problem
from regard.tables.problem import Problem, read_problem
from regard.tables.splits import split_by_time, split_rows
from tests.command import regard
from tests.tables.conftest import REAL


def problem_of(features: pd.DataFrame) -> Problem:
    target = pd.Series(np.arange(len(features), dtype=float), name="y")
    return Problem(features, target, np.arange(len(features)), 0, False, "")


@given(st.lists(st.one_of(st.none(), st.integers(0, 9)), min_size=5, max_size=60))
def test_held_out_rows_are_later_than_all_others(times: list[int | None]):
    cells = pd.Series(times, dtype=float)
    if cells.nunique() < 2:
        with pytest.raises(ConfigError, match="--time t: holds only one time"):
            split_by_time(problem_of(pd.DataFrame({"t": cells})), "t")
        return
    split = split_by_time(problem_of(pd.DataFrame({"t": cells})), "t")
    assert sorted([*split.train, *split.held_out]) == list(range(len(cells)))
    earlier, later = cells[split.train].dropna(), cells[split.held_out]
    assert later.notna().all()
    assert earlier.max() < later.min()


def test_dates_are_read_as_dates():
    days = np.random.default_rng(0).permutation(pd.date_range("2023-09-28", periods=10).strftime("%d %b %Y"))
    split = split_by_time(problem_of(pd.DataFrame({"day": days})), "day")
    with pytest.raises(ConfigError, match="--time day: holds no dates and no numbers, but 'monday'"):
        split_by_time(problem_of(pd.DataFrame({"day": ["monday", "friday"]})), "day")
    assert set(days[split.held_out]) == {"06 Oct 2023", "07 Oct 2023"}


def test_groups_stay_together():
    groups = pd.Series(np.random.default_rng(0).choice([*"abcdefgh", None], 200))
    split = split_rows(problem_of(pd.DataFrame({"who": groups})), FitSettings(group="who"))
    assert set(groups[split.train].fillna("-")).isdisjoint(groups[split.held_out].fillna("-"))
    assert split.how == ", whole groups of 'who'"


def days_of(rows: int = 300) -> pd.DataFrame:
    """A trend that a random split interpolates."""
    rng = np.random.default_rng(0)
    level = np.cumsum(rng.normal(0.2, 1, rows))
    days = pd.date_range("2022-01-01", periods=rows)
    return pd.DataFrame({"day": days, "x": rng.normal(size=rows), "sold": level + 0.1 * rng.normal(size=rows)})


def test_a_split_that_looks_ahead_is_noticed(tmp_path: Path, notes: list[str]):
    days_of().to_csv(tmp_path / "t.csv", index=False)
    problem = read_problem(tmp_path / "t.csv", "sold")
    settings = FitSettings(mode="in_context", weights=str(REAL))
    _, at_random = fit_problem(problem, settings)
    (note,) = [line for line in notes if "by 'day'" in line]
    assert note.endswith("To score predictions of the future: --time day")
    notes.clear()
    _, in_time = fit_problem(problem, FitSettings(mode="in_context", weights=str(REAL), time="day"))
    assert in_time["r2"] < at_random["r2"] - 0.5
    assert f"R² {in_time['r2']:.1f}"[:4] in note
    assert any("the last ones by 'day'" in line for line in notes)
    assert not any(line.startswith("note: the last rows") for line in notes)


def test_a_group_is_no_feature(tmp_path: Path, capsys: pytest.CaptureFixture):
    frame = days_of(60).assign(who=np.arange(60) // 5)
    frame.to_csv(tmp_path / "t.csv", index=False)
    words = ["--target", "sold", "--mode", "in_context", "--out"]
    assert regard("fit", tmp_path / "t.csv", *words, tmp_path / "run", "--group", "who") == 0
    assert "who" not in capsys.readouterr().out
    frame.drop(columns="who").to_csv(tmp_path / "new.csv", index=False)
    assert regard("predict", tmp_path / "run", tmp_path / "new.csv") == 0
    capsys.readouterr()
    for more, message in (
        (["--group", "whom"], "the table has no column 'whom' (--group); did you mean 'who'?"),
        (["--time", "dya"], "the table has no column 'dya' (--time); did you mean 'day'?"),
        (["--time", "day", "--group", "who"], "--time and --group: rows are held out by one of them"),
    ):
        assert regard("fit", tmp_path / "t.csv", *words, tmp_path / "other", *more) == 2
        assert message in capsys.readouterr().err
        assert not (tmp_path / "other").exists()
