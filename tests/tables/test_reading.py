"""Tables with the slips that people make in them: what is read all the same, and which cell a line names."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from regard.core.errors import ConfigError
from regard.data.tables.files import read_table
from regard.data.tables.periods import read_periods
from regard.tables import Forecaster
from regard.tables.encode.columns import Columns
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
    frame = read_table(german(tmp_path, "gaps.csv", a=(3, mark)))
    assert frame["a"].dtype == "float64"
    assert frame["a"].isna().sum() == 1


def forecast(times: list[str] | pd.Series, folder: Path, horizon: int = 3) -> list[str]:
    """The times of a forecast, as a file has them."""
    frame = pd.DataFrame({"t": times, "v": np.arange(len(times)) % 5 + 10.0})
    frame.to_csv(folder / "series.csv", index=False)
    words = ("--time", "t", "--value", "v", "--horizon", str(horizon), "--out", folder / "f.csv")
    assert command("forecast", folder / "series.csv", *words) == 0
    return pd.read_csv(folder / "f.csv", dtype=str)["t"].tolist()


def test_a_forecast_has_the_offset_of_its_times(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    hours = pd.date_range("2024-01-01", periods=48, freq="h", tz="Etc/GMT-1").strftime("%Y-%m-%dT%H:%M:%S%z")
    assert forecast(list(hours), tmp_path)[0] == "2024-01-03 00:00:00+01:00"
    assert "UTC" not in capsys.readouterr().err


def test_a_forecast_over_a_change_of_clocks_is_in_utc_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    hours = pd.date_range("2024-03-30", periods=48, freq="h", tz="Europe/Berlin").strftime("%Y-%m-%dT%H:%M:%S%z")
    assert hours[-1].endswith("+0200")
    first = pd.Timestamp(forecast(list(hours), tmp_path)[0])
    assert first == pd.Timestamp(hours[-1]) + pd.Timedelta(hours=1)
    assert str(first.tz) == "UTC"
    error = capsys.readouterr().err
    assert error.count("'t': its offsets from UTC change (+01:00 and +02:00), and it is read in UTC (+00:00)") == 1


def test_days_over_a_change_of_clocks_are_days(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    days = pd.date_range("2024-03-20", periods=20, tz="Europe/Berlin").strftime("%Y-%m-%dT%H:%M:%S%z")
    assert forecast(list(days), tmp_path, 1) == ["2024-04-09"]
    assert "UTC" not in capsys.readouterr().err


@pytest.mark.parametrize("freq", ["h", "D"])
def test_a_zone_by_name_is_kept_over_a_change_of_clocks(freq: str):
    times = pd.Series(pd.date_range("2024-10-20", periods=200 if freq == "h" else 20, freq=freq, tz="Europe/Berlin"))
    frame = pd.DataFrame({"t": times, "v": np.arange(len(times)) % 5 + 10.0})
    table = Forecaster(time="t", value="v", horizon=2).forecast(frame).table
    assert str(table["t"].dt.tz) == "Europe/Berlin"
    assert table["t"].tolist() == pd.date_range(times.iloc[-1], periods=3, freq=freq)[1:].tolist()


def test_dates_of_a_table_are_the_same_moment_with_any_offset(tmp_path: Path):
    (tmp_path / "a.csv").write_text("id,t\n1,2024-03-30T00:30:00+0100\n2,2024-03-30T12:30:00+0100\n")
    (tmp_path / "b.csv").write_text("id,t\n1,2024-03-29T23:30:00Z\n2,2024-03-30T13:30:00+02:00\n")
    a, b = (read_table(tmp_path / f"{name}.csv") for name in "ab")
    columns = Columns.fit(a)
    assert columns.columns[1].summary == "2024-03-30 00:30 to 2024-03-30 12:30"
    np.testing.assert_array_equal(columns.encode(a).values, columns.encode(b).values)


@pytest.mark.parametrize(
    ("freq", "form", "following"),
    [
        ("MS", "%Y-%m", "2024-07"),
        ("MS", "%b %Y", "Jul 2024"),
        ("MS", "%B %Y", "July 2024"),
        ("MS", "%m.%Y", "07.2024"),
        ("MS", "%m/%Y", "07/2024"),
        ("W-MON", "%G-W%V", "2020-W32"),
    ],
)
def test_periods_are_forecast_in_the_form_in_which_they_came(freq: str, form: str, following: str, tmp_path: Path):
    times = pd.date_range("2020-01-06" if freq == "W-MON" else "2022-01-01", periods=30, freq=freq)
    assert forecast(list(times.strftime(form)), tmp_path, 1) == [following]


@pytest.mark.parametrize("form", ["{}-Q{}", "{} Q{}", "{}Q{}"])
def test_quarters_are_forecast_as_quarters(form: str, tmp_path: Path):
    quarters = [form.format(year, quarter) for year in range(2019, 2023) for quarter in range(1, 5)]
    assert forecast(quarters, tmp_path, 2) == [form.format(2023, 1), form.format(2023, 2)]


def test_a_period_is_its_first_day():
    for cell, day in {"2020-W53": "2020-12-28", "Q3/2021": "2021-07-01", "jan 2015": "2015-01-01"}.items():
        read = read_periods(pd.Series([None, cell], dtype="str"))
        assert read is not None
        assert read[0].tolist()[1] == pd.Timestamp(day)
    for cells in (["2015-13"], ["2021-W53"], ["2015-01", "Jan 2015"], ["2015.01"], ["12/31"], []):
        assert read_periods(pd.Series(cells, dtype="str")) is None


def test_numbers_like_months_stay_numbers(tmp_path: Path):
    (tmp_path / "x.csv").write_text("t,season\n2015.01,2009-10\n2015.02,2010-11\n")
    frame = read_table(tmp_path / "x.csv")
    assert frame["t"].tolist() == [2015.01, 2015.02]
    assert frame["season"].tolist() == ["2009-10", "2010-11"]
    assert Columns.fit(frame, {"season": "date"}).columns[1].summary == "2009-10-01 to 2010-11-01"


def test_a_time_that_is_none_is_told_with_what_would_be_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    frame = pd.DataFrame({"t": ["2015-01", "2015-13", "2015-03"], "v": 1.0})
    with pytest.raises(ConfigError, match=r"row 1 \(counted from 0\): '2015-13' is not a date"):
        Forecaster(time="t", value="v", horizon=1).forecast(frame)
    table = german(tmp_path, "places.csv")
    for verb in (("fit", table, "--target", "y", "--out", tmp_path / "x"),
                 ("forecast", table, "--value", "y", "--horizon", "2")):  # fmt: skip
        assert command(*verb, "--time", "b") == 2
        answer = capsys.readouterr()
        assert f"{table}: --time b: holds no dates and no numbers, but '" in answer.err
        assert "write dates as 2024-12-31, 2024-12, 2024-Q4 or 2024-W52" in answer.err
        assert not answer.out
