"""Gaps that are filled: what was there stays, types stay, and what is filled in comes from the network."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

import regard
from regard.core.errors import ConfigError
from regard.models.in_context import InContextModel
from regard.tables import NPTClassifier, NPTImputer, NPTRegressor
from regard.tables.encode.column import Column
from regard.tables.estimators.imputer import MAX_PREDICTORS, _fill

ROWS = 40
RNG = np.random.default_rng(0)
COLUMNS: dict[str, Any] = {
    "float": RNG.normal(size=ROWS),
    "float32": RNG.normal(size=ROWS).astype(np.float32),
    "Int64": pd.array(RNG.integers(0, 9, ROWS), dtype="Int64"),
    "UInt8": pd.array(RNG.integers(0, 9, ROWS), dtype="UInt8"),
    "arrow": pd.array(RNG.integers(0, 9, ROWS), dtype="int64[pyarrow]"),
    "text": RNG.choice(["x", "y", "z"], ROWS),
    "string": pd.array(RNG.choice(["x", "y"], ROWS), dtype="string"),
    "object": pd.Series([1 if place % 2 else "q" for place in range(ROWS)], dtype=object),
    "categorical": pd.Categorical(RNG.choice(["lo", "hi"], ROWS), ["lo", "mid", "hi"], ordered=True),
    "interval": pd.cut(RNG.normal(size=ROWS), 3),
    "boolean": pd.array(RNG.random(ROWS) > 0.5, dtype="boolean"),
    "date": pd.date_range("2024-01-01", periods=ROWS),
    "moment": pd.date_range("2024-01-01 10:30", periods=ROWS, tz="Europe/Berlin"),
    "written": pd.Series(pd.date_range("2024-01-01", periods=ROWS)).dt.strftime("%Y-%m-%d"),
    "span": pd.to_timedelta(RNG.integers(0, 9, ROWS), unit="D"),
}


def with_gaps(every: int = 5) -> pd.DataFrame:
    frame = pd.DataFrame(COLUMNS)
    for place, name in enumerate(frame):
        frame.loc[(np.arange(ROWS) + place) % every == 0, name] = None
    return frame


def test_gaps_of_every_kind_are_filled_and_nothing_else_changes():
    frame = with_gaps()
    filled = NPTImputer(members=2, random_state=0).fit_transform(frame)
    assert filled.isna().sum().sum() == 0
    assert (filled.dtypes == frame.dtypes).all()
    assert filled.index.equals(frame.index)
    for name in frame:
        there = frame[name].notna()
        pd.testing.assert_series_equal(filled.loc[there, name], frame.loc[there, name])
        if name not in ("float", "float32", "span", "Int64", "UInt8", "arrow", "date", "moment", "written"):
            assert set(filled[name]) <= set(frame[name].dropna())


def test_a_table_without_gaps_is_untouched_and_nothing_is_read(monkeypatch: pytest.MonkeyPatch):
    fitted = NPTImputer(random_state=0).fit(with_gaps())
    monkeypatch.setattr(InContextModel, "encode_context", lambda *_: pytest.fail("there was nothing to fill"))
    whole = pd.DataFrame(COLUMNS)
    pd.testing.assert_frame_equal(fitted.transform(whole), whole)


def test_what_is_filled_in_is_what_the_estimators_predict():
    """The same network asked in the other way."""
    frame = with_gaps()[["float", "text", "boolean", "Int64"]]
    filled = NPTImputer(members=3, random_state=0).fit_transform(frame)
    for name, kind in (("float", NPTRegressor), ("text", NPTClassifier)):
        there, others = frame[name].notna(), frame.drop(columns=name)
        fitted = kind(mode="in_context", members=3, random_state=0).fit(others[there], frame.loc[there, name])
        expected = fitted.predict(others[~there])
        found = filled.loc[~there, name]
        assert (found == expected).all() if name == "text" else np.allclose(found.astype(float), expected, atol=1e-5)


@given(st.lists(st.lists(st.one_of(st.none(), st.integers(-3, 3)), min_size=3, max_size=3), min_size=1, max_size=6))
def test_arrays_of_any_gaps(rows: list):
    array = np.array(rows, dtype=float)
    filled = NPTImputer(members=1, random_state=0).fit_transform(array)
    assert filled.dtype == array.dtype
    there = ~np.isnan(array)
    assert (filled[there] == array[there]).all()
    empty = ~there.any(0)
    assert (np.isnan(filled) == np.broadcast_to(empty, array.shape)).all()
    for place in np.flatnonzero(~empty):  # of a column that holds one value only, that
        if len(known := np.unique(array[there[:, place], place])) == 1:
            assert (filled[:, place] == known).all()


def test_tables_come_back_in_the_form_they_had():
    rows = {"a": [1.0, None, 3.0, 4.0], "b": ["u", "v", None, "v"], "c": [1, 2, None, 4]}
    imputer = NPTImputer(members=1, random_state=0)
    frame = polars.DataFrame(rows)
    filled = imputer.fit_transform(frame)
    assert isinstance(filled, polars.DataFrame)
    assert filled.schema == frame.schema
    assert filled.null_count().sum_horizontal().item() == 0
    table = pyarrow.table(rows)
    assert imputer.fit_transform(table).schema == table.schema
    array = np.array([["u", 1], [None, 2], ["v", None]], dtype=object)
    assert imputer.fit_transform(array).shape == (3, 2)
    assert imputer.fit_transform([[1, "a"], [None, "b"], [3, None]]).shape == (3, 2)
    wrapped = imputer.set_output(transform="pandas").fit_transform(np.array([[1.0, 2.0], [np.nan, 3.0]]))
    assert list(wrapped.columns) == ["x0", "x1"] == list(imputer.get_feature_names_out())


def test_other_rows_are_filled_from_the_rows_of_fit():
    frame = with_gaps()
    fitted = NPTImputer(members=1, random_state=0).fit(frame)
    new = pd.DataFrame({name: pd.Series([None], dtype=frame[name].dtype) for name in frame})
    assert fitted.transform(new).notna().all().all()
    # A file in which a column is empty has no type for it.
    assert fitted.transform(new.assign(text=np.nan, categorical=np.nan)).notna().all().all()
    other = new.assign(categorical=pd.Categorical([None], ["other"]))[list(reversed(list(frame)))]
    filled = fitted.transform(other)
    assert list(filled) == list(other)
    assert filled["categorical"][0] in ("lo", "hi")


def test_columns_that_say_nothing():
    frame = pd.DataFrame({"empty": [np.nan] * 3, "one": [1.0, np.nan, 1.0], "alone": ["a", None, "a"]})
    filled = NPTImputer().fit_transform(frame)
    assert filled["empty"].isna().all()
    assert filled["one"].tolist() == [1, 1, 1]
    assert filled["alone"].tolist() == ["a", "a", "a"]
    assert NPTImputer().fit_transform(pd.DataFrame({"x": [1.0, np.nan, 3.0]}))["x"].tolist() == [1, 2, 3]
    assert NPTImputer().fit_transform(pd.DataFrame({"x": ["a", None, "b", "b"]}))["x"].tolist() == ["a", "b", "b", "b"]


def test_a_column_of_very_many_categories_is_filled_with_a_common_one():
    cells = [f"name {number}" for number in range(300)] + ["common"] * 50 + [None]
    frame = pd.DataFrame({"name": cells, "x": np.arange(351.0)})
    filled = NPTImputer(members=1, random_state=0).fit_transform(frame)
    assert filled["name"].iloc[-1] in set(cells)


def test_what_is_kept_fills_the_same(tmp_path: Path):
    frame = with_gaps()
    fitted = NPTImputer(members=2, random_state=0).fit(frame)
    before = len(pickle.dumps(fitted))
    expected = fitted.transform(frame)
    assert len(pickle.dumps(fitted)) == before  # nothing that was read
    fitted.save(tmp_path / "run")
    for other in (pickle.loads(pickle.dumps(fitted)), regard.load(tmp_path / "run")):
        pd.testing.assert_frame_equal(other.transform(frame), expected)


def test_few_of_the_columns_stay_read_and_fill_the_same_when_read_anew():
    frame = with_gaps()
    fitted = NPTImputer(members=1, random_state=0).fit(frame)
    first = fitted.transform(frame)
    assert len(fitted._predictors) == MAX_PREDICTORS < frame.shape[1]
    pd.testing.assert_frame_equal(fitted.transform(frame), first)


def around(middle: str, zone: str) -> pd.DataFrame:
    """A moment before, one after, and a gap: on the clock of the zone `middle` lies between the two."""
    moments = pd.Timestamp(middle) + pd.to_timedelta([-24, 24, None], unit="h")
    return pd.DataFrame({"when": moments.tz_localize(zone)})


@pytest.mark.parametrize(
    ("middle", "filled"),
    [("2024-10-27 02:15", "2024-10-27 02:15+02:00"), ("2024-03-31 02:15", "2024-03-31 03:00+02:00")],
    ids=["an hour that comes twice", "an hour that is left out"],
)
def test_moments_of_an_hour_in_which_clocks_change(middle: str, filled: str):
    assert NPTImputer().fit_transform(around(middle, "Europe/Berlin"))["when"][2] == pd.Timestamp(filled)


def test_moments_beyond_what_nanoseconds_can_count():
    moments = pd.to_datetime(pd.Series(["9999-12-31 12:00", "9999-12-01 12:00", None]))
    filled = NPTImputer().fit_transform(pd.DataFrame({"until": moments}))["until"]
    assert filled[2] == pd.Timestamp("9999-12-16 12:00")


@pytest.mark.parametrize("days", [1e13, -1e13])
def test_an_imputed_date_is_one_that_python_has(days: float):
    column = Column.fit(pd.Series(pd.date_range("2024-01-01", periods=3), name="day"))
    cells = pd.Series(pd.to_datetime(["2024-01-01", None]))
    assert _fill(cells, np.array([False, True]), np.array([days]), column)[1].year in (1, 9999)


def test_moments_of_another_zone_are_filled_on_the_clock_that_was_learned():
    learned, other = (around("2024-07-01 12:00", zone) for zone in ("UTC", "Europe/Berlin"))
    filled = NPTImputer().fit(learned).transform(other)["when"]
    assert filled.dtype == other["when"].dtype
    assert filled[2] == pd.Timestamp("2024-07-01 12:00", tz="UTC")


def test_what_cannot_be_meant_is_refused():
    with pytest.raises(ConfigError, match="members: "):
        NPTImputer(members=0).fit([[1.0]])
    with pytest.raises(ConfigError, match="did you mean 'float'"):
        NPTImputer(kinds={"flot": "number"}).fit(with_gaps())
    with pytest.raises(ConfigError, match="no column 'float'"):
        NPTImputer().fit(with_gaps()).transform(with_gaps().drop(columns="float"))
