"""Columns of a table: what kind each is inferred to be, and what a network reads of its cells."""

import datetime
import json
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.core.errors import ConfigError, UserError
from regard.data.tables.files import read_table, write_table
from regard.tables.data_checks import check_training_data
from regard.tables.encode.column import Column, some_of
from regard.tables.encode.columns import Columns
from regard.tables.encode.frames import as_frame
from regard.tables.persist.columns import parse_columns
from regard.tables.persist.schema import Section

TABLES = Path(os.environ.get("REGARD_TABLES", "no-tables"))  # real ones, described in a MANIFEST.csv
NAN = float("nan")


def learn(cells: Any, **kinds: str) -> Columns:
    return Columns.fit(pd.DataFrame({"x": cells}), kinds)


def encoded(columns: Columns, cells: Any) -> list[list[float]]:
    return columns.encode(pd.DataFrame({"x": cells})).values.T.tolist()


@pytest.mark.parametrize(
    ("cells", "kind", "categories", "values"),
    [
        (np.array([3, 1, 2], dtype=np.int8), "number", (), [3, 1, 2]),
        (np.array([3, 1, 2], dtype=np.uint64), "number", (), [3, 1, 2]),
        ([1.5, NAN, 2], "number", (), [1.5, NAN, 2]),
        (np.array([1.5, 2], dtype=np.float16), "number", (), [1.5, 2]),
        (pd.array([1, pd.NA, 3], dtype="Int64"), "number", (), [1, NAN, 3]),
        (pd.array([1.5, pd.NA], dtype="Float64"), "number", (), [1.5, NAN]),
        (pd.array([1, None], dtype="int64[pyarrow]"), "number", (), [1, NAN]),
        (pd.arrays.SparseArray([0, 0, 5]), "number", (), [0, 0, 5]),
        (pd.Series([1, 2.5, None, pd.NA], dtype=object), "number", (), [1, 2.5, NAN, NAN]),
        ([Decimal("1.5"), None], "number", (), [1.5, NAN]),
        (pd.to_timedelta(["36 hours", None]), "number", (), [1.5, NAN]),
        ([True, False], "category", (False, True), [1, 0]),
        ([True, True], "category", (False, True), [1, 1]),
        (pd.array([True, pd.NA], dtype="boolean"), "category", (False, True), [1, NAN]),
        (pd.Series([False, None], dtype=object), "category", (False, True), [0, NAN]),
        (["b", "a", None, "b"], "category", ("a", "b"), [1, 0, NAN, 1]),
        (pd.array(["b", pd.NA], dtype="string"), "category", ("b",), [0, NAN]),
        (pd.array(["b", None], dtype="string[pyarrow]"), "category", ("b",), [0, NAN]),
        (["10", "9"], "category", ("10", "9"), [0, 1]),
        (["a", 1, 2.5, None, True], "category", (1, 2.5, "a"), [2, 0, 1, NAN, 0]),
        ([[1], {"a": 2}, None, [1]], "category", ("[1]", "{'a': 2}"), [0, 1, NAN, 0]),
        (
            pd.Categorical(["hi", "lo", None], ["lo", "mid", "hi"], ordered=True),
            "category",
            ("lo", "mid", "hi"),
            [2, 0, NAN],
        ),
        (pd.Categorical([3, 1, None]), "category", (1, 3), [1, 0, NAN]),
        (pd.cut([1, 3], [0, 2, 4]), "category", ("(0, 2]", "(2, 4]"), [0, 1]),
        ([None, NAN, pd.NA], "number", (), [NAN, NAN, NAN]),
        (pd.to_datetime([None, None]), "number", (), [NAN, NAN]),
        ([datetime.time(10, 30), None], "category", ("10:30:00",), [0, NAN]),
    ],
)
def test_kinds_are_inferred_and_cells_are_numbers(cells: Any, kind: str, categories: tuple, values: list):
    columns = learn(cells)
    (column,) = columns.columns
    assert (column.kind, column.categories) == (kind, categories)
    assert [type(category) for category in column.categories] == [type(category) for category in categories]
    found = columns.encode(pd.DataFrame({"x": cells}))
    assert found.values.dtype == np.float32
    assert found.category.tolist() == [kind == "category"]
    np.testing.assert_array_equal(found.values[:, 0], np.array(values, dtype=np.float32))


@pytest.mark.parametrize(
    "cells",
    [
        pd.to_datetime(["2024-02-29", None, "1969-12-31"]),
        pd.to_datetime(["2024-02-29", None, "1969-12-31"]).as_unit("s"),
        [datetime.date(2024, 2, 29), None, datetime.date(1969, 12, 31)],
        pd.array([datetime.date(2024, 2, 29), None, datetime.date(1969, 12, 31)], dtype="date32[pyarrow]"),
        pd.PeriodIndex(["2024-02-29", None, "1969-12-31"], freq="D"),
        pd.to_datetime(["2024-02-29", None, "1969-12-31"]).tz_localize("Asia/Tokyo"),
    ],
)
def test_a_date_is_days_year_month_and_weekday(cells: Any):
    columns = learn(cells)
    assert [column.kind for column in columns.columns] == ["date"]
    found = columns.encode(pd.DataFrame({"x": cells}))
    assert found.names == ("x days", "x year", "x month", "x weekday")
    assert not found.category.any()
    thursday, wednesday = datetime.date(2024, 2, 29), datetime.date(1969, 12, 31)
    days = (thursday - datetime.date(1970, 1, 1)).days
    assert found.values[0].tolist() == [days, 2024, 2, thursday.weekday()]
    assert np.isnan(found.values[1]).all()
    assert found.values[2].tolist() == [-1, 1969, 12, wednesday.weekday()]


def test_a_time_of_day_is_a_cell_where_training_had_one():
    evening = pd.DataFrame({"x": pd.to_datetime(["1960-05-05 18:00"])})
    timed = learn(pd.to_datetime(["2024-01-01 06:00", "2024-01-01 00:00"])).encode(evening)
    assert timed.names[-1] == "x time"
    assert timed.values[0, -1] == 0.75
    assert len(learn(pd.to_datetime(["2024-01-01"])).encode(evening).names) == 4


def test_another_zone_is_read_on_the_clock_of_training():
    berlin = pd.to_datetime(["2024-07-01 08:00"]).tz_localize("Europe/Berlin")
    columns = learn(berlin)
    assert encoded(columns, berlin) == encoded(columns, berlin.tz_convert("America/Lima"))
    assert encoded(columns, berlin)[-1] == [pytest.approx(8 / 24)]
    fixed = learn(pd.to_datetime(["2024-07-01 08:00+05:30"]))
    assert encoded(fixed, pd.to_datetime(["2024-07-01 02:30Z"]))[-1] == [pytest.approx(8 / 24)]


def test_kinds_can_be_set():
    assert learn([3, 1, 3], x="category").columns[0].categories == (1, 3)
    assert learn([0.5, None, 2.0], x="category").columns[0].categories == (0.5, 2.0)
    assert encoded(learn(["1.5", None, "-2"], x="number"), ["7", None, "8"])[0][::2] == [7, 8]
    assert encoded(learn([True, False], x="number"), [False, True]) == [[0, 1]]
    assert encoded(learn(["31.12.2024", None], x="date"), ["01.02.2025", None])[1][0] == 2025
    assert learn([None, None], x="category").columns[0] == Column("x", "category", filled=0.0)


@pytest.mark.parametrize(
    ("cells", "kinds", "message"),
    [
        (["1", "two"], {"x": "number"}, "column 'x', row 1 (counted from 0): 'two' is not a number"),
        (pd.to_datetime(["2024-01-01"]), {"x": "number"}, "column 'x': holds dates, not numbers"),
        (["2024-01-01", "soon"], {"x": "date"}, "column 'x', row 1 (counted from 0): 'soon' is not a date"),
        ([1, 2], {"x": "date"}, "column 'x', row 0 (counted from 0): '1' is not a date"),
        (["2024-01-01", "31.12.2024"], {"x": "date"}, "column 'x': mixes date formats"),
        ([1], {"X": "number"}, "kinds: there is no column 'X'; did you mean 'x'?"),
        ([1], {"x": "numeric"}, "kinds: 'x' cannot be 'numeric'; known: number, category, date"),
        ([1.0, np.inf], {}, "column 'x', row 1 (counted from 0): 'inf' is infinite"),
        ([1.0, -np.inf], {}, "column 'x', row 1 (counted from 0): '-inf' is infinite"),
        ([1e300], {}, "column 'x', row 0 (counted from 0): '1e+300' is infinite or too large"),
        ([1j], {}, "Complex data not supported: column 'x'"),
        (pd.Series([1j, 2j], dtype=object), {}, "Complex data not supported: column 'x'"),
    ],
)
def test_what_a_column_cannot_hold_is_named(cells: Any, kinds: dict[str, str], message: str):
    with pytest.raises(ConfigError) as caught:
        learn(cells, **kinds)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, ValueError)  # what scikit-learn expects


def test_another_table_may_be_wrong_too():
    columns = Columns.fit(pd.DataFrame({"n": [1.0, 2], "d": pd.to_datetime(["2024-01-01"] * 2)}))
    with pytest.raises(ConfigError, match=r"column 'n', row 1 .*: 'many' is not a number"):
        columns.encode(pd.DataFrame({"n": [1, "many"], "d": [None, None]}))
    with pytest.raises(ConfigError, match=r"column 'n', row 0 .*: 'inf' is infinite"):
        columns.encode(pd.DataFrame({"n": [np.inf], "d": [None]}))
    with pytest.raises(ConfigError, match=r"column 'd', row 1 .*: 'x' is not a date"):
        columns.encode(pd.DataFrame({"n": [1, 2], "d": ["2024-01-01", "x"]}))


def test_the_unseen_has_a_code_of_its_own():
    columns = learn(["a", "b", None])
    assert encoded(columns, ["c", "a", "d"]) == [[2, 0, 2]]
    assert encoded(columns, [5, "b", ("t",)]) == [[2, 1, 2]]


@pytest.mark.parametrize(
    ("trained", "other", "codes"),
    [
        (["1", "2", "A"], [2, 1], [1, 0]),  # a file of digits only reads as numbers
        (["1", "2", "A"], [2.0, None, 1.0], [1, NAN, 0]),  # and as floats where some are missing
        (["true", "false", "?"], [True, False], [2, 1]),
        (pd.Categorical([1, 2]), ["2", "1"], [1, 0]),
        (pd.Categorical([1, 2]), [2.0, None], [1, NAN]),
        ([True, False], ["False", "TRUE"], [0, 1]),
        ([True, False], [0, 1], [0, 1]),
        (["2024-01-01", "never"], pd.to_datetime(["2024-01-01"]), [0]),
    ],
)
def test_a_category_is_known_in_another_type(trained: Any, other: Any, codes: list):
    np.testing.assert_array_equal(encoded(learn(trained), other)[0], codes)


def test_a_column_that_was_empty_is_not_looked_at():
    assert np.isnan(encoded(learn([None, None]), ["now", "text"])).all()
    assert np.isnan(encoded(learn([NAN, NAN], x="date"), ["now", "text"])).all()


def test_columns_are_matched_by_name():
    frame = pd.DataFrame({"a": [1, 2], "b": ["u", "v"]})
    columns = Columns.fit(frame)
    other = pd.DataFrame({"more": [0, 0], "b": ["u", "v"], "a": [1, 2]})
    np.testing.assert_array_equal(columns.encode(frame).values, columns.encode(other).values)
    with pytest.raises(ConfigError, match="the table has no column 'b'; did you mean 'B'"):
        columns.encode(frame.rename(columns={"b": "B"}))
    wide = pd.DataFrame(np.zeros((1, 500)), columns=[f"sensor {number}" for number in range(500)])
    with pytest.raises(ConfigError, match="the table has no columns 'a', 'b'; if values are unknown"):
        columns.encode(wide)


def test_columns_without_names_are_matched_by_place():
    cells = np.arange(8.0).reshape(2, 4)
    columns = Columns.fit(as_frame(cells))
    assert [column.name for column in columns.columns] == ["x0", "x1", "x2", "x3"]
    named = pd.DataFrame(cells, columns=list("dcba"))
    np.testing.assert_array_equal(columns.encode(named).values, cells)
    np.testing.assert_array_equal(Columns.fit(named).encode(as_frame(cells)).values, cells)
    with pytest.raises(ValueError, match="X has 3 features, but NPTClassifier is expecting 4 features as input"):
        columns.encode(as_frame(cells[:, :3]), estimator="NPTClassifier")
    assert Columns.fit(as_frame(cells), {"x1": "category"}).columns[1].categories == (1.0, 5.0)


def test_tables_of_others():
    import polars
    import pyarrow

    frame = pd.DataFrame(
        {"n": pd.array([1, None], dtype="Int64"), "t": ["u", None], "d": pd.to_datetime(["2024-01-01", None])}
    )
    theirs = [
        polars.from_pandas(frame),
        pyarrow.Table.from_pandas(frame),
        pyarrow.RecordBatch.from_pandas(frame),
        frame.convert_dtypes(dtype_backend="pyarrow"),
    ]
    columns = Columns.fit(frame)
    for other in theirs:
        found = as_frame(other)
        assert Columns.fit(found) == columns
        np.testing.assert_array_equal(columns.encode(found).values, columns.encode(frame).values)
    levels = polars.DataFrame({"x": polars.Series(["lo", "hi"], dtype=polars.Enum(["lo", "mid", "hi"]))})
    assert Columns.fit(as_frame(levels)).columns[0].categories == ("lo", "mid", "hi")


def test_rows_and_arrays_as_frames():
    assert [str(kind) for kind in as_frame([[1, "a", None], [2, "b", 0.5]]).dtypes] == ["int64", "str", "float64"]
    assert as_frame(np.array([[1, "a"], [2, None]], dtype=object)).dtypes.iloc[0] == np.int64
    assert as_frame(np.array([["1", "a"]])).iloc[0].tolist() == ["1", "a"]
    assert as_frame(np.array([[b"a"]])).iloc[0].tolist() == ["a"]
    assert as_frame([np.array([1, 2]), np.array([3, 4])]).shape == (2, 2)
    assert list(as_frame([{"a": 1, "b": 2}])) == ["a", "b"]
    assert as_frame({"a": [1, 2], "b": np.array(["x", "y"])}).to_dict("list") == {"a": [1, 2], "b": ["x", "y"]}

    class Ours:
        def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
            return np.eye(2)

    assert as_frame(Ours()).shape == (2, 2)


def test_what_is_no_table_is_refused_in_the_words_of_scikit_learn():
    import polars
    import scipy.sparse

    for table, message in [
        (np.zeros(3), "Expected 2D array, got 1D array instead. Reshape your data"),
        ([1, 2, 3], "Reshape your data"),
        (np.zeros((2, 2, 2)), "got 3D array"),
        (np.zeros((2, 0)), r"0 feature\(s\) \(shape=\(2, 0\)\) while a minimum of 1 is required"),
        (np.zeros((0, 2)), r"0 sample\(s\) \(shape=\(0, 2\)\) while a minimum of 1 is required"),
        (np.zeros((2, 2), dtype=complex), "Complex data not supported"),
        (scipy.sparse.eye(3, format="csr"), "sparse"),
        (scipy.sparse.coo_array(np.eye(3)), "sparse"),
        ([[1, 2], [3]], r"row 1 \(counted from 0\) has 1 cells, the first 2"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "two columns are named 'a'"),
        (pd.Series([1]), "Reshape your data"),
        ("houses.csv", "not the text 'houses.csv'; use pandas.read_csv"),
        (Path("houses.csv"), "use pandas.read_csv"),
        (polars.LazyFrame({"a": [1]}), r"LazyFrame; pass X.collect\(\)"),
        (None, "Expected 2D array"),
    ]:
        with pytest.raises(ValueError, match=message) as caught:
            as_frame(table)
        assert "\n" not in str(caught.value)


CELLS = st.sampled_from(
    [
        st.integers(-(2**40), 2**40),
        st.floats(allow_infinity=False, width=32),
        st.booleans(),
        st.text(max_size=3),
        st.one_of(st.integers(0, 3), st.text("012a", max_size=2), st.booleans()),
        st.datetimes(datetime.datetime(1800, 1, 1), datetime.datetime(2200, 1, 1)),
        st.timedeltas(datetime.timedelta(-100), datetime.timedelta(100)),
    ]
)


@st.composite
def frames(draw: st.DrawFn) -> pd.DataFrame:
    rows, width = draw(st.integers(1, 8)), draw(st.integers(1, 4))
    columns = {}
    for place in range(width):
        cells = st.one_of(draw(CELLS), st.none()) if draw(st.booleans()) else draw(CELLS)
        values = draw(st.lists(cells, min_size=rows, max_size=rows))
        series = pd.Series(values, dtype=object)
        columns[f"c{place}"] = draw(st.sampled_from([series, series.infer_objects(), series.convert_dtypes()]))
    return pd.DataFrame(columns)


@given(frames(), st.data())
def test_every_row_is_encoded_by_itself(frame: pd.DataFrame, data: st.DataObject):
    columns = Columns.fit(frame)
    whole = columns.encode(frame).values
    rows = data.draw(st.lists(st.integers(0, len(frame) - 1), min_size=1, max_size=10))
    np.testing.assert_array_equal(columns.encode(frame.iloc[rows]).values, whole[rows])


def loaded(data: dict[str, Any]) -> Columns:
    return parse_columns(Section(Path("columns.json"), data))


@given(frames())
def test_columns_survive_json(frame: pd.DataFrame):
    columns = Columns.fit(frame)
    kept = loaded(json.loads(json.dumps(columns.to_dict())))
    assert kept == columns
    assert repr(kept) == repr(columns)  # 1, 1.0 and True are equal, and not the same
    np.testing.assert_array_equal(kept.encode(frame).values, columns.encode(frame).values)


@given(frames())
def test_every_filled_cell_is_a_number_and_every_code_is_known(frame: pd.DataFrame):
    columns = Columns.fit(frame)
    cells = columns.encode(frame)
    assert cells.rows == len(frame)
    assert cells.values.shape[1] == len(cells.category) == len(cells.names)
    for column in columns.columns:
        places = [place for place, name in enumerate(cells.names) if name.split()[0] == column.name]
        for place in places:
            np.testing.assert_array_equal(np.isnan(cells.values[:, place]), frame[column.name].isna())
        if column.kind == "category":
            codes = cells.values[:, places[0]]
            assert (codes[~np.isnan(codes)] < len(column.categories)).all()


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.pop("columns"),
        lambda data: data["columns"][0].pop("name"),
        lambda data: data["columns"][0].update(kind="word"),
        lambda data: data["columns"][0].update(typo=1),
        lambda data: data.update(columns=[5]),
    ],
)
def test_damaged_columns_are_refused(change: Any):
    data = learn([1, 2]).to_dict()
    change(data)
    with pytest.raises(UserError, match=r"^columns\.json: columns"):
        loaded(data)


def test_remarks_are_what_a_person_should_know():
    frame = pd.DataFrame(
        {
            "name": [f"person {number}" for number in range(100)],
            "sex": ["f", "m"] * 50,
            "one": [7] * 99 + [None],
            "same": ["x"] * 100,
            "empty": [None] * 100,
            "row": range(100),
            "stamp": 1.7e9 + np.arange(100) * 0.37,
            "day": pd.to_datetime(["2024-01-01"] * 100),
            "fine": np.linspace(0, 1, 100) ** 2,
        }
    )
    lines = check_training_data(Columns.fit(frame), frame)
    assert [line.split("'")[1] for line in lines] == ["name", "one", "same", "empty", "row", "stamp", "day"]
    assert "100 of 100 values are distinct, as in an identifier" in lines[0]
    assert lines[1] == "'one' is constant (7)"
    few = frame.head(50)
    assert not any("identifier" in line for line in check_training_data(Columns.fit(few), few))
    assert "(--ignore)" in lines[0]
    other = check_training_data(Columns.fit(frame), frame.assign(sex=["f", "x"] * 50))
    assert "'sex': 50 of 100 cells hold categories unseen in training: 'x'" in other


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([*map(str, range(60)), "unknown"], "60 of 61 cells are numbers, but not 'unknown'"),
        ([*(f"{cell},5" for cell in range(60)), "unknown"], "60 of 61 cells are numbers, but not 'unknown'"),
        ([*(f"{cell},5 €" for cell in range(60)), "12.5 €"], "60 of 61 cells are numbers, but not '12.5 €'"),
        ([*(f"{cell},5" for cell in range(40)), *(f"{cell}.5" for cell in range(40))], "such as '0.5' and '0,5'"),
        ([*(f"{cell:03}" for cell in range(60)), "unknown"], "61 of 61 values are distinct"),  # codes
        ([*map(str, range(60)), *["unknown"] * 30], "90 values"),  # text as often as not
        ([f"2024-01-{day:02}" for day in range(1, 32)] + ["31.12.2023"], "looks like dates in several formats"),
        (["Yes", "no", "yes"] * 5, "'Yes' and 'yes' are two categories"),
        (["S", "10", "12", "14", "16"] * 10, "nothing"),  # codes
    ],
)
def test_a_remark_names_the_cells_that_made_text_of_a_column(cells: list, message: str):
    frame = pd.DataFrame({"x": cells})
    lines = check_training_data(Columns.fit(frame), frame)
    assert not lines if message in ("nothing", "90 values") else (len(lines) == 1 and message in lines[0])


def test_dates_of_all_times():
    days = [datetime.date(1500, 1, 1), datetime.date(9999, 12, 31), None]
    for cells in (days, pd.Series(days, dtype="datetime64[s]"), pd.Series(["1500-01-01", "9999-12-31", None])):
        columns = learn(cells, x="date")
        found = columns.encode(pd.DataFrame({"x": cells})).values
        assert found[:2, 1].tolist() == [1500, 9999]
        assert columns.decode(found)["x"].tolist()[1] == pd.Timestamp("9999-12-31")
        assert columns.columns[0].summary == "1500-01-01 to 9999-12-31"


def test_moments_come_back_to_the_second():
    """Days since 1970 alone would be off by more than a minute in 32 bits."""
    moments = pd.Series(pd.to_datetime(["2024-05-17 23:59:59", "1969-07-20 20:17:40", "9999-12-31 00:00:01", None]))
    columns = learn(moments)
    found = columns.decode(columns.encode(pd.DataFrame({"x": moments})).values)["x"]
    assert found[:3].tolist() == moments[:3].tolist()
    assert pd.isna(found[3])


def test_names_that_are_no_text_are_names_still():
    cells = np.arange(6.0).reshape(2, 3)
    years = pd.DataFrame(cells, columns=[2022, 2023, 2024])
    columns = Columns.fit(years)
    assert [column.name for column in columns.columns] == ["2022", "2023", "2024"]
    np.testing.assert_array_equal(columns.encode(years[[2024, 2022, 2023]]).values, cells)
    levels = pd.DataFrame(cells, columns=pd.MultiIndex.from_tuples([("a", "x"), ("a", "y"), ("b", 1)]))
    columns = Columns.fit(levels)
    assert [column.name for column in columns.columns] == ["a x", "a y", "b 1"]
    np.testing.assert_array_equal(columns.encode(levels.iloc[:, ::-1]).values, cells)
    with pytest.raises(ConfigError, match="two columns are named '1'"):
        as_frame(pd.DataFrame({1: [0], "1": [0]}))


def test_all_absent_columns_and_wrong_cells_are_named_at_once():
    frame = pd.DataFrame({"area": [1.0, 2.0, 3.0], "sold": ["2024-01-01"] * 3, "city": list("abc")})
    columns = Columns.fit(frame, {"sold": "date"})
    with pytest.raises(ConfigError, match="no columns 'area', 'city'; for 'area' did you mean 'aera'"):
        columns.encode(frame[["sold"]].assign(aera=1.0))
    wrong = frame.assign(area=["1", "big", "small"], sold=["2024-01-01", "2024-01-02", "31/02/2024"])
    with pytest.raises(ConfigError) as error:
        columns.encode(wrong)
    assert str(error.value) == (
        "column 'area', row 1 (counted from 0): 'big' is not a number (and 1 more cell of the column); "
        "column 'sold', row 2 (counted from 0): '31/02/2024' is not a date, such as 2024-12-31; "
        "leave unknown cells empty"
    )


def test_a_category_is_quoted_and_shown_to_be_cut():
    assert some_of(("a, b", "x" * 40, 3)) == f"'a, b', '{'x' * 29}…', 3"


def test_a_column_that_is_not_there_may_be_added_empty():
    columns = learn([1.0, 2.0])
    with pytest.raises(ConfigError, match="no column 'x'; if its values are unknown, add it with empty cells"):
        columns.encode(pd.DataFrame({"other": [1.0]}))
    assert np.isnan(columns.encode(pd.DataFrame({"x": [None]})).values).all()


def test_what_was_inferred_is_shown():
    frame = pd.DataFrame({"n": [1.5, None, 3, 4], "c": list("abcd"), "d": pd.to_datetime(["2024-01-01"] * 4)})
    shown = [("n", "number", "75%", "1.5 to 4"), ("c", "category", "100%", "'a', 'b', 'c', 'd'")]
    assert Columns.fit(frame).table() == [*shown, ("d", "date", "100%", "2024-01-01 to 2024-01-01")]
    many = learn([f"{number:03}" for number in range(200)]).table()
    assert many[0][3] == "'000', '001', '002', '003', '004' and 195 more"


@pytest.mark.skipif(not TABLES.is_dir(), reason="REGARD_TABLES names no folder of real tables")
def test_real_tables_have_the_kinds_that_their_keepers_say(tmp_path: Path):
    described = pd.read_csv(TABLES / "MANIFEST.csv").set_index("name")
    for name in ["titanic", "penguins", "house_votes_84", "soybean", "pbc_survival", "medical_insurance", "servo"]:
        frame = read_table(TABLES / f"{name}.csv").drop(columns="target")
        columns = Columns.fit(frame)
        cells = columns.encode(frame)
        assert cells.category.sum() == described.loc[name, "n_categorical"]
        assert np.isnan(cells.values).sum() == described.loc[name, "missing"]
        write_table(frame, tmp_path / f"{name}.parquet")
        np.testing.assert_array_equal(columns.encode(read_table(tmp_path / f"{name}.parquet")).values, cells.values)
