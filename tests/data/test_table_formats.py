"""Tables in spreadsheets, databases and JSON: made and read by the tools of each format, and compared with CSV."""

import json
import random
import sqlite3
import tempfile
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import openpyxl
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.cli.main import show_notes
from regard.core.errors import ConfigError, UserError
from regard.data.tables import chunks
from regard.data.tables.files import check_written, read_table, table_chunks, write_frames, write_table
from regard.data.tables.source import JoinedTables, TableSource, as_source, read_sources
from tests.data.test_table_files import tables

NAMES = ["id", "n", "w", "sold", "on", "at", "city", "nothing"]
ROWS: list[list[Any]] = [
    ["007", 3, 0.5, True, date(2024, 1, 2), datetime(2024, 1, 2, 3, 4, 5), "Köln", None],
    ["012", None, 2.0, None, None, datetime(2023, 12, 31, 23, 0), "=SUM(A1)", None],
    ["100", -4, None, False, date(1999, 12, 31), None, " Oslo", None],
    ["101", 5, -1.25, True, date(2024, 2, 29), datetime(2024, 1, 3), None, None],
]
EVERY = [
    "x.xlsx",
    "x.ods",
    "x.json",
    "x.jsonl",
    "x.ndjson.gz",
    "x.sqlite",
    "x.sqlite::rows",
    "x.db",
    "x.duckdb",
    "x.parquet",
]


@pytest.fixture(autouse=True)
def _notes_on_stderr() -> None:
    show_notes()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def csv_frame(folder: Path) -> pd.DataFrame:
    lines = [",".join(NAMES)]
    lines += [",".join("" if cell is None else str(cell) for cell in row) for row in ROWS]
    (folder / "csv.csv").write_text("\n".join(lines) + "\n")
    return read_table(folder / "csv.csv")


def make_xlsx(path: Path) -> None:
    book = openpyxl.Workbook()
    for row in [NAMES, *ROWS, [None] * 8, [None] * 8]:  # and blank rows at the end
        book.active.append(row)
    book.active["G3"].data_type = "s"
    book.save(path)


def make_ods(path: Path) -> None:
    frame = pd.DataFrame(ROWS, columns=NAMES, dtype=object)
    frame.to_excel(path, engine="odf", index=False)  # by odfpy


def make_sqlite(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("create table t (id, n, w, sold boolean, 'on', 'at', city, 'nothing')")
        rows = [[str(cell) if isinstance(cell, date) else cell for cell in row] for row in ROWS]
        connection.executemany("insert into t values (?, ?, ?, ?, ?, ?, ?, ?)", rows)
    connection.close()


def make_duckdb(path: Path) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            'create table t (id varchar, n integer, w double, sold boolean, "on" date, "at" timestamp, city varchar, '
            "nothing double)"
        )
        connection.executemany("insert into t values (?, ?, ?, ?, ?, ?, ?, ?)", ROWS)


def make_json(path: Path) -> None:
    rows = [{n: c for n, c in zip(NAMES, row, strict=True) if c is not None or n == "nothing"} for row in ROWS]
    path.write_text(json.dumps(rows, default=str, indent=1))


def make_jsonl(path: Path) -> None:
    rows = [dict(zip(NAMES, row, strict=True)) for row in ROWS]
    path.write_text("".join(json.dumps(row, default=str) + "\n" for row in rows))


MAKERS: dict[str, Callable[[Path], None]] = {
    "x.xlsx": make_xlsx, "x.ods": make_ods, "x.sqlite": make_sqlite, "x.duckdb": make_duckdb, "x.json": make_json,
    "x.jsonl": make_jsonl,
}  # fmt: skip


@pytest.mark.parametrize("name", MAKERS)
def test_a_table_is_the_same_as_from_csv(name: str, folder: Path):
    MAKERS[name](folder / name)
    read, expected = read_table(name), csv_frame(folder)
    if name == "x.duckdb":  # which has types, and text as it is
        read = read.astype({"n": "Int64", "on": "datetime64[us]"}).assign(city=read["city"].str.strip())
    pd.testing.assert_frame_equal(read, expected)
    assert list(map(str, expected.dtypes[:5])) == ["str", "Int64", "float64", "boolean", "datetime64[us]"]


def own_reading(where: TableSource) -> list[list[Any]]:
    """Header and rows, as the tools of the format see them."""
    match where.suffix:
        case ".xlsx":
            return [list(row) for row in openpyxl.load_workbook(where.path).active.values]
        case ".ods":
            frame = pd.read_excel(where.path, engine="odf", dtype=object)
        case ".sqlite" | ".db":
            with sqlite3.connect(where.path) as connection:
                frame = pd.read_sql(f"select * from {where.part or 'predictions'}", connection)
            connection.close()
        case ".duckdb":
            with duckdb.connect(str(where.path)) as connection:
                frame = connection.execute(f"from {where.part or 'predictions'}").fetchdf()
        case ".json" | ".jsonl":
            frame = pd.read_json(where.path, lines=where.suffix == ".jsonl", dtype=False)
    return [list(frame.columns), *(list(row) for row in frame.itertuples(index=False))]


@pytest.mark.parametrize("name", ["o.xlsx", "o.ods", "o.sqlite", "o.duckdb::p", "o.json", "o.jsonl"])
def test_what_is_written_is_read_by_the_tools_of_the_format(name: str, folder: Path):
    frame = pd.DataFrame({"id": ["007", "=1+1"], "p": [0.25, None], "n": pd.array([1, None], "Int64"), "a": [5, 6]})
    write_table(frame, name)
    header, first, second = own_reading(as_source(name))
    assert header == ["id", "p", "n", "a"]
    assert first == ["007", 0.25, 1, 5]
    assert second[0] == "=1+1", "text, and no formula"
    assert all(cell is None or pd.isna(cell) for cell in second[1:3])
    if name == "o.xlsx":
        assert openpyxl.load_workbook(name).active["A3"].data_type == "s"
        assert openpyxl.load_workbook(name).sheetnames == ["predictions"]


@settings(max_examples=40)
@given(tables(), st.sampled_from(EVERY), st.data())
def test_a_frame_survives_every_format(table: dict[str, list], name: str, data: st.DataObject):
    """Changes: text and names are stripped; a spreadsheet has no blank rows, its numbers have 16 digits, its times
    milliseconds, its line ends are one \\n."""
    sheet = as_source(name).suffix in (".xlsx", ".ods")
    table = {"filled": [0.5] * len(next(iter(table.values()))), **table} if sheet else table
    frame = pd.DataFrame(table)
    for column, cells in table.items():
        missing = data.draw(st.sets(st.integers(1, 5))) if column != "filled" else ()
        kind = "Int64" if type(cells[0]) is int else "boolean" if type(cells[0]) is bool else frame[column].dtype
        frame[column] = pd.Series(cells, dtype=kind)
        frame.loc[[row for row in missing if row < len(frame)], column] = None
    if sheet:
        frame = as_a_sheet_has_it(frame)
    with tempfile.TemporaryDirectory() as folder:
        write_table(frame, f"{folder}/{name}")
        read = read_table(f"{folder}/{name}")
        assert [file.name for file in Path(folder).iterdir()] == [name.partition("::")[0]]
    assert [str(column).strip() for column in frame] == list(read)
    for column, other in zip(frame, read, strict=True):
        if sheet and pd.api.types.is_float_dtype(frame[column].dtype):
            np.testing.assert_allclose(read[other].astype("float64"), frame[column], rtol=1e-15)
            continue
        expected = [None if pd.isna(cell) else cell for cell in frame[column]]
        assert [None if pd.isna(cell) else cell for cell in read[other]] == expected
        if pd.api.types.is_bool_dtype(frame[column].dtype) and not frame[column].isna().any():
            assert pd.api.types.is_bool_dtype(read[other].dtype)


def as_a_sheet_has_it(frame: pd.DataFrame) -> pd.DataFrame:
    changed = frame.copy()
    for column in frame:
        if pd.api.types.is_datetime64_any_dtype(frame[column].dtype):
            changed[column] = frame[column].dt.floor("ms")
        elif pd.api.types.is_float_dtype(frame[column].dtype):
            changed[column] = frame[column].clip(-1e300, 1e300)  # the largest would become infinite with 16 digits
        elif isinstance(frame[column].dtype, pd.StringDtype):
            changed[column] = frame[column].str.replace("\r\n", "\n").str.replace("\r", "\n")
    return changed


def test_excel_as_people_have_it(folder: Path, capsys: pytest.CaptureFixture):
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Sales"
    for row in (
        [], [None, 2024, "price", "price", None, "mixed", "amount", "formula"],
        [None, 1, "n/a", 5, "x", 1, "€1,234.50", 7], [],
        [None, 2, 3.5, None, None, "two", "€7.00", None], [None, 3, "-", 7.25, "z", 2.5, "€8.00", 9],
    ):  # fmt: skip
        sheet.append(row)
    book.create_sheet("Empty")
    book.create_sheet("More of it").append(["a"])
    book.create_sheet("Secret").append(["a"])
    book["Secret"].sheet_state = "hidden"
    book.save("book.xlsx")
    frame = read_table("book.xlsx")
    assert list(frame) == ["2024", "price", "price.2", "column 4", "mixed", "amount", "formula"]
    assert [str(kind) for kind in frame.dtypes] == ["int64", "float64", "float64", "str", "str", "float64", "Int64"]
    assert frame["mixed"].tolist() == ["1", "two", "2.5"]
    assert frame["price"].isna().tolist() == [True, False, True]
    assert frame["amount"].tolist() == [1234.5, 7, 8]
    line = "book.xlsx: sheet 'Sales' is read; others are 'More of it': name one as 'book.xlsx::More of it'"
    assert capsys.readouterr().err.splitlines().count(line) == 1
    pd.testing.assert_frame_equal(read_table("book.xlsx::Sales"), frame)
    assert "others" not in capsys.readouterr().err
    assert read_table("book.xlsx::Sales").shape == (3, 7)


def test_a_formula_counts_by_its_cached_value(folder: Path):
    """openpyxl computes nothing: the value is put beside the formula, as a spreadsheet program saves it."""
    import zipfile

    book = openpyxl.Workbook()
    for row in (["a", "b"], [1, "=A2*2"], [3, "=A3*2"]):
        book.active.append(row)
    book.save("plain.xlsx")
    with zipfile.ZipFile("plain.xlsx") as old, zipfile.ZipFile("cached.xlsx", "w") as new:
        for name in old.namelist():
            text = old.read(name)
            for row in (2, 3):
                text = text.replace(f"<f>A{row}*2</f><v />".encode(), f"<f>A{row}*2</f><v>{4 * row - 6}</v>".encode())
                text = text.replace(f"<f>A{row}*2</f><v></v>".encode(), f"<f>A{row}*2</f><v>{4 * row - 6}</v>".encode())
            new.writestr(name, text)
    assert read_table("cached.xlsx")["b"].tolist() == [2, 6]
    assert read_table("plain.xlsx")["b"].isna().all()


def sheet_with(*rows: list[Any], merged: str = "") -> None:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    if merged:
        book.active.merge_cells(merged)
    book.save("x.xlsx")


def test_headers_that_are_none(folder: Path, capsys: pytest.CaptureFixture):
    sheet_with(["Report of May"], [], ["a", "b"], [1, 2])
    with pytest.raises(UserError, match=r"x\.xlsx::Sheet: its first row holds 'Report of May' alone; remove"):
        read_table("x.xlsx")
    sheet_with(["a", "b", None], ["c", 1, 2], merged="B1:C1")
    with pytest.raises(UserError, match=r"x\.xlsx::Sheet, cell B1: is merged with others; give each column"):
        read_table("x.xlsx")
    sheet_with(["a", "b"], ["c", 1], [None, 2], merged="A2:A3")
    assert read_table("x.xlsx")["b"].tolist() == [1, 2]
    assert "cell A2: is merged with others down to A3" in capsys.readouterr().err
    sheet_with(["a", "b"])
    with pytest.raises(UserError, match="has a header and no rows"):
        read_table("x.xlsx")
    openpyxl.Workbook().save("x.xlsx")
    with pytest.raises(UserError, match=r"x\.xlsx::Sheet: is empty"):
        read_table("x.xlsx")
    pd.DataFrame({"a": ["x", "y"]}).to_excel("x.xlsx")  # with an index, which nobody means
    assert list(read_table("x.xlsx")) == ["a"]


def test_nested_json_is_text_and_reported(folder: Path, capsys: pytest.CaptureFixture):
    Path("x.jsonl").write_text('{"a": 1, "tags": ["x", "ü"]}\n\n{"b": true, "a": 2.5, "tags": null}\n')
    frame = read_table("x.jsonl")
    assert list(frame) == ["a", "tags", "b"]
    assert frame["tags"][0] == '["x", "ü"]'
    assert "x.jsonl: 'tags' holds lists or objects, and is read as their JSON text" in capsys.readouterr().err
    for text, message in (
        ('{"a": 1}\n[1]', "x.json, line 2: is no object"),
        ('[{"a": 1}, 2]', "x.json: record 2 is no object"),
        ('{\n"a": 1}', "x.json, line 1: is not JSON"),
        ("[]", "x.json: has no rows"),
        ("[{}]", "x.json: has no columns"),
        ("[" * 100_000, "x.json: is not JSON"),
    ):
        Path("x.json").write_text(text)
        with pytest.raises(UserError) as caught:
            read_table("x.json")
        assert message in str(caught.value)


@pytest.mark.parametrize("name", ["x.sqlite", "x.duckdb"])
def test_tables_of_a_database_are_chosen_and_left_alone(name: str, folder: Path):
    MAKERS[name](Path(name))
    frame = pd.DataFrame({"p": [0.5, 0.25]})
    write_table(frame, name)
    with pytest.raises(
        ConfigError, match=f"{name}: has the tables predictions, t; name one|has the tables t, predictions"
    ):
        read_table(name)
    with pytest.raises(ConfigError, match=f"{name}: has no table 'tt'; did you mean|known: "):
        read_table(f"{name}::tt")
    write_table(frame.assign(p=[1.0, 2.0]), f"{name}::predictions")  # replaced
    assert read_table(f"{name}::predictions")["p"].tolist() == [1, 2]
    assert len(read_table(f"{name}::t")) == len(ROWS), "untouched"

    def failing() -> Any:
        yield frame
        raise KeyboardInterrupt

    for target in (f"{name}::predictions", f"new{as_source(name).suffix}"):
        with pytest.raises(KeyboardInterrupt):
            write_frames(failing(), target)
    assert read_table(f"{name}::predictions")["p"].tolist() == [1, 2], "whole or not at all"
    assert sorted(path.name for path in folder.iterdir()) == [name]
    with pytest.raises(UserError, match="differ in case only"):
        write_table(pd.DataFrame({"p_Yes": [1], "p_yes": [2]}), f"{name}::t")
    assert len(read_table(f"{name}::t")) == len(ROWS)


@pytest.mark.parametrize("name", ["x.sqlite", "x.duckdb"])
def test_queries_read_and_change_nothing(name: str, folder: Path):
    MAKERS[name](Path(name))
    before = Path(name).read_bytes()
    frame = read_table(
        as_source(name, "with s as (select id, n * 2 as double, sold from t) select * from s where id > '1';")
    )
    assert frame.to_dict("list") == {
        "id": [100, 101] if name == "x.sqlite" else ["100", "101"],
        "double": [-8, 10],
        "sold": [False, True],
    }
    assert read_table(as_source(name, "select sum(n) as s, 1.5 as d from t")).to_dict("list") == {"s": [4], "d": [1.5]}
    for query in (
        "delete from t", "drop table t", "select 1 as a; drop table t", "create table u as select 1", "select nope",
        "attach 'y.db' as y", "copy t to 'y.csv'", "select * from read_csv('csv.csv')", "pragma user_version = 3", ";",
    ):  # fmt: skip
        with pytest.raises(ConfigError, match="--query: ") as caught:
            read_table(as_source(name, query))
        assert "\n" not in str(caught.value)
    assert Path(name).read_bytes() == before
    assert sorted(path.name for path in folder.iterdir()) == [name]
    with pytest.raises(UserError, match="has no rows"):
        read_table(as_source(name, "select * from t where n > 1000"))
    with pytest.raises(ConfigError, match="--query: selects from its own tables"):
        as_source(f"{name}::t", "select 1")
    csv_frame(folder)
    with pytest.raises(ConfigError, match=r"--query: csv\.csv is no database"):
        read_table(as_source("csv.csv", "select 1"))


def test_types_of_duckdb(folder: Path):
    query = "select 1.5::decimal(9, 2) as d, sum(3) as h, time '01:02:03' as t, 'a'::enum('a', 'b') as e, uuid() as u"
    with duckdb.connect("x.duckdb") as connection:
        connection.execute(f"create schema s; create table s.t as {query}; create table s.l as select [1] as l")
    frame = read_table("x.duckdb::s.t")
    assert [str(kind) for kind in frame.dtypes] == ["float64", "int64", "str", "category", "str"]
    assert frame.iloc[0, :3].tolist() == [1.5, 3, "01:02:03.000000"]
    with pytest.raises(UserError, match=r"x\.duckdb::s\.l: 'l' is of type list.*leave it out with --query"):
        read_table("x.duckdb::s.l")


@pytest.mark.parametrize("name", ["x.sqlite", "x.duckdb"])
def test_large_databases_are_read_in_chunks(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(chunks, "ROWS", 60)
    monkeypatch.setattr(chunks, "LARGE", 100)
    frame = pd.DataFrame({"id": [f"{row:04d}" for row in range(200)], "a": range(200), "c": ["x", None] * 100})
    write_table(frame, name)
    parts = list(table_chunks(name))
    assert [len(part.frame()) for part in parts] == [60, 60, 60, 20]
    pd.testing.assert_frame_equal(pd.concat([part.frame() for part in parts], ignore_index=True), read_table(name))
    joined = pd.concat([part.cells(["id"]) for part in parts], ignore_index=True)
    assert joined["id"].tolist() == frame["id"].tolist()
    assert len(list(table_chunks(name, whole=True))) == 4


def error_of(name: str) -> str:
    try:
        read_table(name)
    except UserError as error:
        return str(error)
    return ""  # what was hit may be of no importance


def test_what_is_damaged_is_named_in_one_line(folder: Path):
    rng = random.Random(0)
    for name, make in MAKERS.items():
        make(folder / name)
        data = Path(name).read_bytes()
        for number in range(12):
            broken = bytearray(data[: rng.randrange(len(data))] if number % 3 == 0 else data)
            for _ in range(200 if number % 3 else 0):
                broken[rng.randrange(len(broken))] = rng.randrange(256)
            Path(name).write_bytes(broken)
            if line := error_of(name):
                assert name in line
                assert "\n" not in line
    for name in ("x.sqlite", "x.duckdb", "x.xlsx", "x.ods"):
        Path(name).write_text("a,b\n1,2\n")
        with pytest.raises(UserError, match=f"{name}: cannot be read as"):
            read_table(name)
    for name in ("x.sqlite", "x.duckdb"):
        with pytest.raises(UserError, match=f"{name}.*: cannot be read as"):
            check_written(name)
        with pytest.raises(UserError, match="decompress the database first"):
            read_table(f"{name}.gz")
    with pytest.raises(UserError, match=r"absent\.xlsx: cannot be read \(No such file"):
        read_table("absent.xlsx")


def test_what_a_sheet_cannot_hold_is_refused(folder: Path):
    for frame, message in (
        (pd.DataFrame({"a": ["x", "\x01"]}), "'a', row 1: the text has a character that cannot be in a sheet"),
        (pd.DataFrame({"a": ["x" * 40_000]}), "'a', row 0: the text is too long for a sheet"),
        (pd.DataFrame(np.zeros((1, 16_385))), "a sheet holds 16,384 columns"),
    ):
        for name in ("x.xlsx", "x.ods"):
            with pytest.raises(UserError) as caught:
                write_table(frame, name)
            assert message in str(caught.value)
    assert not list(folder.iterdir())
    for target, message in (
        ("x.xlsx::a/b", "none of"),
        ("x.csv::a", ".csv has no parts"),
        ("x.sqlite.gz", "without compression"),
        ("x.xls", "not .xls"),
        ("x.xlsx::", "must be FILE::NAME"),
    ):
        with pytest.raises(ConfigError) as caught:
            check_written(target)
        assert message in str(caught.value)
    write_table(pd.DataFrame({"a": [1]}), "x.xlsx::One")
    with pytest.raises(ConfigError, match=r"x\.xlsx exists, and a spreadsheet is written anew"):
        check_written("x.xlsx::Two")
    write_table(pd.DataFrame({"a": [2**60, 1]}), "x.xlsx")
    assert read_table("x.xlsx")["a"].tolist() == [2**60, 1]


def test_a_name_with_two_colons_may_be_a_file(folder: Path):
    Path("a::b.csv").write_text("a\n1\n")
    assert read_table("a::b.csv")["a"].tolist() == [1]
    Path("plain.db").write_bytes(b"")
    MAKERS["x.duckdb"](Path("y.duckdb"))
    Path("y.duckdb").rename("y.db")  # known by its first bytes
    assert len(read_table("y.db::t")) == len(ROWS)


def test_several_files_are_one_table(folder: Path, capsys: pytest.CaptureFixture):
    Path("jan.csv").write_text("on,code,n,gap\n01/02/2024,12,1,\n03/02/2024,13,2,\n")
    Path("feb.csv").write_text("n,gap,code,on\n,5,007,25/02/2024\n")
    frame = read_table(read_sources(["jan.csv", "feb.csv"]))
    assert frame["on"].dt.month.tolist() == [2, 2, 2], "one file shows that the day comes first"
    assert frame["code"].tolist() == ["12", "13", "007"]
    assert frame["n"].tolist()[:2] == [1, 2]
    assert str(frame["n"].dtype) == "Int64"
    frame[:2].to_parquet("jan.parquet")
    joined = read_table(read_sources(["jan.parquet", "feb.csv"]))
    pd.testing.assert_frame_equal(joined.convert_dtypes(), frame.convert_dtypes())
    Path("feb.csv").write_text("n,gap,code,on\nlow,5,007,25/02/2024\n")
    assert read_table(read_sources(["jan.parquet", "feb.csv"]))["n"].tolist() == ["1", "2", "low"]
    assert "'n' is a number in jan.parquet and text in feb.csv, and is read as text" in capsys.readouterr().err
    Path("feb.csv").write_text("n,gap,codes,on\n1,5,007,25/02/2024\n")
    with pytest.raises(UserError, match=r"feb\.csv: has no column 'code', which jan\.csv has"):
        read_table(read_sources(["jan.csv", "feb.csv"]))
    Path("feb.csv").write_text("n,gap,code,more,on\n1,5,007,1,25/02/2024\n")
    with pytest.raises(UserError, match=r"jan\.csv: has no column 'more', which feb\.csv has"):
        read_table(JoinedTables((as_source("jan.csv"), as_source("feb.csv"))))
