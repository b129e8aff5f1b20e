"""Tables as people have them: every layout, every type of column, and every way in which a file can be wrong."""

import csv
import gzip
import io
import lzma
import math
import os
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.cli.main import show_notes
from regard.core.errors import ConfigError, UserError
from regard.data.tables import chunks
from regard.data.tables.csv_text import FORMULA
from regard.data.tables.files import read_table, table_chunks, write_table
from regard.data.tables.types import MISSING

TABLES = Path(os.environ.get("REGARD_TABLES", "no-tables"))  # real ones, described in a MANIFEST.csv


@pytest.fixture(autouse=True)
def _notes_on_stderr() -> None:
    show_notes()


def read(text: str | bytes, folder: Path, name: str = "x.csv") -> pd.DataFrame:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_table(path)


HEADER = ["n", "text", "w"]
ROWS = [["1", 'a, "b"; c|d\te', "0.5"], ["2", "two\nlines", "-1.5"], ["3", "ü", "2"]]


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_every_layout_gives_the_same_table(separator: str, end: str, encoding: str, tmp_path: Path):
    text = io.StringIO(newline="")
    quoting = csv.QUOTE_ALL if end == "\r" else csv.QUOTE_MINIMAL  # which would leave the \n of a cell bare
    csv.writer(text, delimiter=separator, lineterminator=end, quoting=quoting).writerows([HEADER, *ROWS])
    frame = read(text.getvalue().encode(encoding), tmp_path)
    assert frame.to_dict("list") == {"n": [1, 2, 3], "text": [row[1] for row in ROWS], "w": [0.5, -1.5, 2.0]}
    assert [str(kind) for kind in frame.dtypes] == ["int64", "str", "float64"]


@pytest.mark.parametrize("packing", ["", ".gz", ".xz", ".zst"])
def test_every_packing_is_unpacked(packing: str, tmp_path: Path):
    data = b"a,b\n1,x\n2,y\n"
    packed = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress, ".zst": _zstd}[packing](data)
    assert read(packed, tmp_path, f"x.csv{packing}").to_dict("list") == {"a": [1, 2], "b": ["x", "y"]}
    if packing:
        with pytest.raises(UserError, match=r"x\.csv.*is damaged"):
            read(packed[:-5], tmp_path, f"x.csv{packing}")


def _zstd(data: bytes) -> bytes:
    import zstandard

    return zstandard.compress(data)


@pytest.mark.parametrize(
    ("text", "separator"),
    [
        ("a;b\n1,5;2,5\n", ";"),
        ("price, EUR;area, m2\n1,5;2,5\n3,5;4,5\n", ";"),  # as many commas in each row
        ('"a;b;c;d",e\n1,2\n', ","),  # inside quotes
        ('a,b\n"x;y",1\n"z;y",2\n', ","),
        ("a|b,c\n1|x\n2|y, z\n", "|"),
        ("words\nto be or not\n", ","),  # a single column: no letter is a separator
        ('size,kind\n5" pipe,1\n6" pipe,2\n', ","),  # a quote inside a field is a letter
        ("sep=|\na,b|c\n1,2|3\n", "|"),
    ],
)
def test_the_separator_is_what_cuts_rows_like_the_header(text: str, separator: str, tmp_path: Path):
    frame = read(text, tmp_path)
    header = text.removeprefix("sep=|\n").splitlines()[0]
    assert list(frame) == next(csv.reader([header], delimiter=separator))


def test_text_after_a_separator_and_a_space(tmp_path: Path):
    frame = read("a, b, c\n1, x, ?\n2, y, 5\n", tmp_path)
    assert frame["b"].tolist() == ["x", "y"]
    assert frame["c"].isna().tolist() == [True, False]


def test_blanks_around_a_cell_are_no_part_of_it(tmp_path: Path):
    frame = read('a,b,c\n x ,1,NA \nx, 2 , 3\n" x",3,\n', tmp_path)
    assert frame["a"].tolist() == ["x"] * 3
    assert frame["b"].tolist() == [1, 2, 3]
    assert frame["c"].isna().tolist() == [True, False, True]


@pytest.mark.parametrize(
    ("cells", "kind", "values"),
    [
        (["1", "", "3"], "Int64", [1, None, 3]),
        (["9007199254740993", "", "1"], "Int64", [9007199254740993, None, 1]),  # more than a float can hold
        (["1", "2.5"], "float64", [1.0, 2.5]),
        (["0.1", "1e-3", "-0"], "float64", [0.1, 0.001, -0.0]),
        (["0", "0.5", "10"], "float64", [0.0, 0.5, 10.0]),
        (["007", "12"], "str", ["007", "12"]),
        (["12", "", "007"], "str", ["12", None, "007"]),
        (["01.11", "62.01"], "str", ["01.11", "62.01"]),
        (["True", "FALSE", "true"], "bool", [True, False, True]),
        (["True", "", "False"], "boolean", [True, None, False]),
        (["yes", "no"], "str", ["yes", "no"]),
        (["12345678901234567890123", "1"], "str", ["12345678901234567890123", "1"]),
        (["18446744073709551615", "NA"], "str", ["18446744073709551615", None]),
        (["none", "na"], "str", ["none", "na"]),
        (["1", "x"], "str", ["1", "x"]),
        (["12/2020", "1-2"], "str", ["12/2020", "1-2"]),
        (["2009-10", "2010-11"], "str", ["2009-10", "2010-11"]),  # seasons
        (["2020-01-01", "soon"], "str", ["2020-01-01", "soon"]),
        (["2020-02-30", "2020-01-01"], "str", ["2020-02-30", "2020-01-01"]),
        (['"1,234"', "950", '"-12,500.5"'], "float64", [1234.0, 950.0, -12500.5]),
        (["1 234", "12\u00a0500", "1\u202f000\u202f000"], "float64", [1234.0, 12500.0, 1e6]),
        (["1'234.5", "7"], "float64", [1234.5, 7.0]),
        (['"$1,234.50"', "", "-$7"], "float64", [1234.5, None, -7.0]),
        (["($99.00)", "$1"], "float64", [-99.0, 1.0]),
        (["5 €", "1.5€"], "float64", [5.0, 1.5]),
        (["EUR 5", "EUR -"], "str", ["EUR 5", "EUR -"]),
        (["12.5%", "7 %", "−3%"], "float64", [12.5, 7.0, -3.0]),
        (["$5", "€5"], "str", ["$5", "€5"]),  # not of one unit
        (["5%", "0.05"], "str", ["5%", "0.05"]),
        (["(1)", "(2)"], "str", ["(1)", "(2)"]),  # notes
        (['"1,23"', '"-1.001,5"'], "float64", [1.23, -1001.5]),
        (['"3,6 %"', "", "7 %"], "float64", [3.6, None, 7.0]),
        (['"0,123"', '"1,234"'], "float64", [0.123, 1.234]),  # no thousands: one begins with zero
        (['"1,23"', "1.5"], "str", ["1,23", "1.5"]),
        (["012 345", "12 345"], "str", ["012 345", "12 345"]),
        (["--5", "1"], "str", ["--5", "1"]),
        (["١٢", "5%"], "str", ["١٢", "5%"]),
        (["12/31/23", "01/15/24"], "datetime64[us]", [pd.Timestamp("2023-12-31"), pd.Timestamp("2024-01-15")]),
        (["31-Dec-23", "15-Jan-24"], "datetime64[us]", [pd.Timestamp("2023-12-31"), pd.Timestamp("2024-01-15")]),
    ],
)
def test_a_column_is_what_all_its_cells_are(cells: list[str], kind: str, values: list, tmp_path: Path):
    frame = read("id,x\n" + "".join(f"{number},{cell}\n" for number, cell in enumerate(cells)), tmp_path)
    assert str(frame["x"].dtype) == kind
    cells_read = [None if pd.isna(value) else value for value in frame["x"]]
    assert cells_read == values


@pytest.mark.parametrize(
    ("cell", "moment"),
    [
        ("2024-03-31", "2024-03-31"),
        ("2024-03-31T14:30", "2024-03-31 14:30"),
        ("2024-03-31 14:30:15.25", "2024-03-31 14:30:15.25"),
        ("2024/03/31", "2024-03-31"),
        ("31.03.2024", "2024-03-31"),
        ("31.3.2024 14:30", "2024-03-31 14:30"),
        ("31/03/2024", "2024-03-31"),
        ("03/31/2024 2:30 PM", "2024-03-31 14:30"),
        ("31-03-2024", "2024-03-31"),
        ("31 Mar 2024", "2024-03-31"),
        ("31-Mar-2024", "2024-03-31"),
        ('"March 31, 2024"', "2024-03-31"),
        ("9999-12-31", "9999-12-31"),
    ],
)
def test_dates_in_common_forms(cell: str, moment: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    frame = read(f"id,d\n1,{cell}\n2,\n3,{cell}\n", tmp_path)
    assert frame["d"].tolist()[::2] == [pd.Timestamp(moment)] * 2
    assert frame["d"].isna().tolist() == [False, True, False]
    assert capsys.readouterr().err == ""


def test_dates_with_zones(tmp_path: Path):
    frame = read("id,d\n1,2024-01-01T10:00:00Z\n2,2024-01-01T10:00:00+02:00\n", tmp_path)
    assert frame["d"].tolist() == [
        pd.Timestamp("2024-01-01 10:00", tz="UTC"),
        pd.Timestamp("2024-01-01 08:00", tz="UTC"),
    ]


def test_one_cell_tells_day_from_month_and_else_a_line_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert read("id,d\n1,03/04/2024\n2,25/04/2024\n", tmp_path)["d"].tolist()[0] == pd.Timestamp("2024-04-03")
    assert capsys.readouterr().err == ""
    assert read("id,d\n1,03/04/2024\n", tmp_path)["d"].tolist() == [pd.Timestamp("2024-03-04")]
    assert capsys.readouterr().err.count("\n") == 1
    assert read("id;d\n1;03/04/2024\n", tmp_path)["d"].tolist() == [pd.Timestamp("2024-04-03")]
    assert "'d': 03/04/2024 is taken for 2024-04-03" in capsys.readouterr().err


def test_decimal_commas_where_semicolons_separate(tmp_path: Path):
    frame = read("a;b;c;d;e\n1,5;1.234,5;0,25;x,5;2.5\n;7;-3;y;3.5\n2;1.000.000;1,5e3;1,2;1\n", tmp_path)
    assert frame["a"].isna().tolist() == [False, True, False]
    assert frame["a"].tolist()[::2] == [1.5, 2.0]
    assert frame["b"].tolist() == [1234.5, 7.0, 1e6]
    assert frame["c"].tolist() == [0.25, -3.0, 1500.0]
    assert frame["d"].tolist() == ["x,5", "y", "1,2"]
    assert frame["e"].tolist() == [2.5, 3.5, 1.0]
    assert read('a,b\n"1,5",1\n', tmp_path)["a"].tolist() == [1.5]
    assert read("a\tb\n1,5\t1\n1.234,5 €\t2\n", tmp_path)["a"].tolist() == ["1,5", "1.234,5 €"]
    assert read("a\tb\n1,5\t1\n1.234,5\t2\n", tmp_path)["a"].tolist() == [1.5, 1234.5]


def test_a_decimal_comma_between_commas_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    frame = read('a,b\n,1\n"1,5",1\n"2,25",1\n', tmp_path)
    assert frame["a"].tolist()[1:] == [1.5, 2.25]
    assert capsys.readouterr().err == f"{tmp_path}/x.csv: 'a': 1,5 is read as 1.5\n"
    assert read('a,b\n"1,500",1\n950,1\n', tmp_path)["a"].tolist() == [1500.0, 950.0]
    assert capsys.readouterr().err == ""


def test_decimal_commas_of_a_large_file_are_read_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(chunks, "LARGE", 1000)
    monkeypatch.setattr(chunks, "BYTES", 500)
    (tmp_path / "x.csv").write_text("a,b\n" + '"1,5",x\n' * 100 + '"1,500",x\n' * 100)
    frames = [chunk.frame() for chunk in table_chunks(tmp_path / "x.csv")]
    assert pd.concat(frames)["a"].tolist() == [1.5] * 200


def test_points_part_thousands_where_commas_are_decimal(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    frame = read("a;b;c;d\n1.234;0,5;1.5;2.345\n950;1,25;2.234;0.123\n;2;3;7\n12.500;3;4;8\n", tmp_path)
    assert frame["a"].tolist()[::3] == [1234.0, 12500.0]
    assert frame["c"].tolist() == [1.5, 2.234, 3.0, 4.0]
    assert frame["d"].tolist() == [2.345, 0.123, 7.0, 8.0]
    assert capsys.readouterr().err == ""
    frame = read("a;b\n1.234;5\n950;6\n", tmp_path)
    assert frame["a"].tolist() == [1.234, 950.0]
    assert "'a': 1.234 is read with a decimal point" in capsys.readouterr().err
    assert read("a,b\n1.234,5\n950,6\n", tmp_path)["a"].tolist() == [1.234, 950.0]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("spelling", MISSING)
def test_every_spelling_of_missing(spelling: str, tmp_path: Path):
    frame = read(f"n,w,t,b,d\n1,0.5,x,True,2024-01-01\n{','.join([spelling] * 5)}\n", tmp_path)
    assert frame.isna().values.tolist() == [[False] * 5, [True] * 5]
    assert [str(kind)[:10] for kind in frame.dtypes] == ["Int64", "float64", "str", "boolean", "datetime64"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"a,b\n", "has a header and no rows"),
        (b"a,b\n\n\n", "has a header and no rows"),
        (b"a,b\n1,2\n3\n", "line 3: has 1 fields, the header 2"),
        (b"a,b\r\n1,2\r\n3,4,5\r\n", "line 3: has 3 fields, the header 2; quote a cell with ',' in it"),
        (b'a,b\n"two\nlines",2\n3\n', "line 4: has 1 fields"),
        (b"Report of May\n\na,b\n1,2\n", "line 3: has 2 fields, the header 1; remove what stands above the header"),
        (b"sep=;\na;b\n1;2\n3\n", "line 4: has 1 fields"),
        (b'a,b\n1,2\n"open,2\n3,4\n', "line 3: a quote is opened in this row and never closed"),
        (b'a,b\n1,2\n"x"y,2\n', "line 3: is not CSV"),
        (b'a,b\n1,"' + b"x" * 200_000 + b'"\n', "line 2: a cell of more than 131,072 characters"),
        (b"a\0b\n", "zero bytes"),
        (b"\xff\xfea", "is not UTF-16"),
        (b"PK\x03\x04\x14\0", "is a spreadsheet or an archive"),
        (b"PAR1 and no more", "cannot be read as Parquet"),
    ],
)
def test_a_bad_file_is_named_in_one_line(data: bytes, message: str, tmp_path: Path):
    with pytest.raises(UserError) as caught:
        read(data, tmp_path)
    assert message in str(caught.value)
    assert "x.csv" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_other_things_than_tables(tmp_path: Path):
    with pytest.raises(UserError, match="is a folder"):
        read_table(tmp_path)
    with pytest.raises(UserError, match=r"absent\.csv: cannot be read"):
        read_table(tmp_path / "absent.csv")


def test_letters_that_are_not_utf8_are_told_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    frame = read("ort,preis\nKöln,5\nÖhringen,6 €\n".encode("cp1252"), tmp_path)
    assert frame["ort"].tolist() == ["Köln", "Öhringen"]
    assert frame["preis"].tolist() == ["5", "6 €"]
    errors = capsys.readouterr().err
    assert errors.count("\n") == 1
    assert "x.csv, line 2: is not UTF-8; the file is read as Windows-1252" in errors
    read("ort,preis\nKöln,5\n".encode("latin-1") + b"\x81,6\n", tmp_path)  # no letter of Windows-1252
    assert "x.csv, line 2: is not UTF-8; the file is read as latin-1" in capsys.readouterr().err


def test_names_are_made_unique_and_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    frame = read("a, b ,,a,a.2,a,\n1,2,3,4,5,6,7\n", tmp_path)
    assert list(frame) == ["a", "b", "column 3", "a.3", "a.2", "a.4", "column 7"]
    assert frame.iloc[0].tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert capsys.readouterr().err.count("\n") == 4


def test_columns_that_nobody_named_or_means_are_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    pd.DataFrame({"a": ["x", "y", "z"]}, index=[7, 0, 3]).to_csv(tmp_path / "x.csv")  # rows that were drawn
    assert list(read_table(tmp_path / "x.csv")) == ["a"]
    assert "'column 1' only numbers the rows, and is left out" in capsys.readouterr().err
    assert list(read("a,b,,\n1,2,,5\n3,4,,6\n", tmp_path)) == ["a", "b", "column 4"]
    assert "'column 3' is empty, and is left out" in capsys.readouterr().err
    assert list(read(",a\n5,1\n5,2\n", tmp_path)) == ["column 1", "a"]
    assert list(read("a,b\n,2\n,4\n", tmp_path)) == ["a", "b"]
    assert read(",\n1,\n", tmp_path).shape == (1, 1)


def test_a_missing_header_is_suspected(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    read("1,2\n3,4\n", tmp_path)
    assert "is a header missing?" in capsys.readouterr().err


def test_blank_lines_are_no_rows(tmp_path: Path):
    assert read("\n\na,b\n\n1,2\n   \n3,4\n\n", tmp_path).to_dict("list") == {"a": [1, 3], "b": [2, 4]}
    assert read('a\n1\n""\n3\n', tmp_path)["a"].isna().tolist() == [False, True, False]


def test_parquet_keeps_its_types(tmp_path: Path):
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.table(
        {
            "n": pyarrow.array([2**53 + 1, None]),
            "m": pyarrow.array([1, 2], pyarrow.int32()),
            "b": [True, None],
            "t": ["NA", None],
            "c": pyarrow.array(["u", "v"]).dictionary_encode(),
            "d": pyarrow.array([0, None], pyarrow.date32()),
        }
    )
    pyarrow.parquet.write_table(table, tmp_path / "x.parquet")
    frame = read_table(tmp_path / "x.parquet")
    assert [str(kind) for kind in frame.dtypes][:5] == ["Int64", "int32", "boolean", "str", "category"]
    assert frame["n"][0] == 2**53 + 1
    assert frame["t"][0] == "NA"  # Parquet has a way of its own to say that a cell is missing
    assert frame["d"][0] == pd.Timestamp("1970-01-01")
    pyarrow.parquet.write_table(table[:0], tmp_path / "x.parquet")
    with pytest.raises(UserError, match="has no rows"):
        read_table(tmp_path / "x.parquet")


def test_the_index_that_pandas_adds_to_parquet_is_no_column(tmp_path: Path):
    frame = pd.DataFrame({"a": [1, 2, 3]})
    frame[frame["a"] > 1].to_parquet(tmp_path / "x.parquet")
    assert list(read_table(tmp_path / "x.parquet")) == ["a"]
    frame.set_index(pd.Index([4, 9, 6], name="id")).to_parquet(tmp_path / "x.parquet")
    assert set(read_table(tmp_path / "x.parquet")) == {"a", "id"}


LETTERS = st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\r\t")
TEXT = st.text(LETTERS, max_size=8).map(lambda text: f"x{text}z")  # neither a number nor missing nor a formula
NAMES = st.lists(st.text("abc ,;|\"'\n", max_size=5).map(lambda name: f"n{name}m"), min_size=1, max_size=4, unique=True)
COLUMNS = st.sampled_from(
    [
        st.integers(-(2**63), 2**63 - 1),
        st.floats(allow_nan=False, allow_infinity=False),
        st.booleans(),
        TEXT,
        st.datetimes(min_value=pd.Timestamp("1700-01-01").to_pydatetime()),
        st.integers(0, 99).map(lambda code: f"0{code:02}"),
    ]
)


@st.composite
def tables(draw: st.DrawFn) -> dict[str, list]:
    rows = draw(st.integers(1, 6))
    return {name: draw(st.lists(draw(COLUMNS), min_size=rows, max_size=rows)) for name in draw(NAMES)}


@given(tables(), st.sampled_from([".csv", ".tsv", ".csv.gz", ".csv.zst", ".csv.xz", ".parquet"]), st.data())
def test_what_is_written_is_read(table: dict[str, list], kind: str, data: st.DataObject):
    frame = pd.DataFrame(table)
    for name, cells in table.items():  # some cells missing, never all of a column
        missing = data.draw(st.sets(st.integers(1, 5)))
        values = [None if number in missing else cell for number, cell in enumerate(cells)]
        frame[name] = pd.Series(
            values, dtype="Int64" if type(cells[0]) is int else frame[name].dtype if not missing else object
        )
        table[name] = values
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"table{kind}"
        write_table(frame, path)
        read = read_table(path)
        assert [file.name for file in Path(folder).iterdir()] == [path.name]
    assert list(read) == list(table)
    for name, values in table.items():
        assert [None if pd.isna(cell) else cell for cell in read[name]] == values
        if type(values[0]) is int:
            assert pd.api.types.is_integer_dtype(read[name].dtype)


@pytest.mark.parametrize("start", FORMULA)
def test_a_spreadsheet_finds_no_formula(start: str, tmp_path: Path):
    cell = f"{start}cmd|' /C calc'!A0"
    table = {
        "text": pd.Series([cell, "safe"]),
        "kind": pd.Categorical([cell, "safe"]),
        "mixed": pd.Series([cell, -1], dtype=object),
    }
    frame = pd.DataFrame({**table, start + "name": [-1.5, 2]})
    write_table(frame, tmp_path / "x.csv")
    with (tmp_path / "x.csv").open(newline="", encoding="utf-8") as file:
        header, first, second = csv.reader(file)
    assert header == ["text", "kind", "mixed", f"'{start}name"]
    assert first == [f"'{cell}"] * 3 + ["-1.5"]
    assert second == ["safe", "safe", "-1", "2.0"]


def test_numbers_are_written_as_they_are(tmp_path: Path):
    frame = pd.DataFrame({"n": pd.array([-1, None], dtype="Int64"), "w": [-0.1, math.nan], "b": [True, False]})
    write_table(frame, tmp_path / "deep" / "x.csv")
    assert (tmp_path / "deep" / "x.csv").read_text() == "n,w,b\n-1,-0.1,True\n,,False\n"


def test_what_cannot_be_written_is_told(tmp_path: Path):
    frame = pd.DataFrame({"a": [1]})
    with pytest.raises(ConfigError, match=r"as \.csv, \.tsv, .* or \.ddb, not \.doc"):
        write_table(frame, tmp_path / "x.doc")
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be written"):
        write_table(frame, tmp_path / "file" / "x.csv")


@pytest.mark.skipif(not TABLES.is_dir(), reason="REGARD_TABLES names no folder of real tables")
def test_real_tables_read_as_pandas_reads_them():
    described = pd.read_csv(TABLES / "MANIFEST.csv").set_index("name")
    for name in ["titanic", "penguins", "house_votes_84", "pbc_survival", "ozone", "concrete", "ames_housing"]:
        frame, plain = read_table(TABLES / f"{name}.csv"), pd.read_csv(TABLES / f"{name}.csv")
        assert frame.shape == (described.loc[name, "rows"], described.loc[name, "features"] + 1)
        for column in plain:
            numbers = pd.api.types.is_numeric_dtype(plain[column])
            assert pd.api.types.is_numeric_dtype(frame[column]) == numbers, (name, column)
            if numbers:
                np.testing.assert_array_equal(frame[column].to_numpy(float, na_value=np.nan), plain[column])


@given(st.text("ab01,;|\t\"'\n\r .-/=é", max_size=60))
def test_whatever_a_file_holds_it_is_a_table_or_named(text: str):
    with tempfile.TemporaryDirectory() as folder:
        try:
            frame = read(text, Path(folder))
        except UserError as error:
            message = str(error)
        else:
            assert frame.shape[0] > 0
            assert len(set(frame.columns)) == frame.shape[1] > 0
            return
    assert message.startswith(folder)
