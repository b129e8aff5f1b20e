"""Verbs on tables in spreadsheets, databases, JSON, several files and standard input: the same as with CSV."""

import io
import sqlite3
import sys
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest
import yaml

from regard.data.tables import chunks
from regard.data.tables.files import read_table
from regard.data.tables.source import read_source
from regard.tables.problem import read_problem
from tests.command import regard as command

QUICK = ("--target", "price", "--mode", "in_context")


@pytest.fixture
def houses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    """The same table in every format, made by the tools of each."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({
        "id": [f"{number:03d}" for number in range(60)], "area": pd.array(rng.integers(40, 200, 60), "Int64"),
        "city": rng.choice(["Rome", "Oslo"], 60), "built": pd.date_range("1990-01-01", periods=60, freq="30D"),
    })  # fmt: skip
    frame.loc[::7, "area"] = None
    frame["price"] = (frame["area"].fillna(100) * 10 + rng.normal(size=60)).astype("float64").round(2)
    frame.to_csv("t.csv", index=False)
    frame[:40].to_csv("jan.csv", index=False)
    frame[40:].to_csv("feb.csv", index=False)
    frame.to_excel("t.xlsx", sheet_name="Houses", index=False)
    frame.to_excel("t.ods", engine="odf", index=False)
    frame.to_json("t.json", orient="records", date_format="iso")
    with sqlite3.connect("t.sqlite") as connection:
        frame.to_sql("houses", connection, index=False)
        frame[:0].to_sql("empty", connection, index=False)
    connection.close()
    with duckdb.connect("t.duckdb") as base:
        base.execute("create table houses as select * from frame")
    return frame


def fit(*tables: str, out: str) -> pd.DataFrame:
    """Fit, and give the predictions for t.csv."""
    assert command("fit", *tables, "--out", out, *QUICK) == 0
    assert command("predict", out, "t.csv", "--out", f"{out}.csv") == 0
    return pd.read_csv(f"{out}.csv")


@pytest.mark.parametrize("query", ["", "select * from houses"])
def test_the_problem_of_every_format_is_that_of_csv(query: str, houses: pd.DataFrame):
    expected = read_problem("t.csv", "price")
    databases = ("t.sqlite", "t.duckdb") if query else ("t.sqlite::houses", "t.duckdb")
    files = () if query else ("t.xlsx::Houses", "t.ods", "t.json")
    for table in (*files, *databases):
        problem = read_problem(read_source(table, query), "price")
        pd.testing.assert_frame_equal(problem.features, expected.features)
        pd.testing.assert_series_equal(problem.target, expected.target)


def test_verbs_do_the_same_as_with_csv(houses: pd.DataFrame, capsys: pytest.CaptureFixture):
    expected = fit("t.csv", out="csv")
    for number, tables in enumerate((("jan.csv", "feb.csv"), ("t.sqlite", "--query", "select * from houses"))):
        pd.testing.assert_frame_equal(fit(*tables, out=f"run{number}"), expected)
        config = yaml.safe_load(Path(f"run{number}/config.yaml").read_text())
        assert config["table"] == ("jan.csv feb.csv" if len(tables) == 2 else tables[0]), "as given"
        assert config.get("query") == (tables[2] if "--query" in tables else None)
    capsys.readouterr()
    assert command("explain", "csv", "t.xlsx", "--row", 7) == 0
    assert capsys.readouterr().out.startswith("Row 7 of t.xlsx (the first is 0; id 007): predicted price: ")
    assert command("evaluate", "csv", "t.ods", "--json") == 0
    scores = capsys.readouterr().out
    assert command("evaluate", "csv", "jan.csv", "feb.csv", "--json") == 0
    assert capsys.readouterr().out == scores


def test_predictions_go_to_every_format(houses: pd.DataFrame):
    expected = fit("t.csv", out="run")
    for out in (
        "o.xlsx",
        "o.ods",
        "o.json",
        "o.jsonl.gz",
        "t.sqlite::predictions",
        "t.duckdb::out",
        "new.db",
        "o.parquet",
    ):
        for table in ("t.sqlite::houses", "t.duckdb::houses"):  # which may be the database that is written to
            assert command("predict", "run", table, "--out", out, "--keep", "id", "built") == 0
        written = read_table(out)
        pd.testing.assert_frame_equal(written[expected.columns], expected, rtol=1e-12)
        assert written["id"].tolist() == houses["id"].tolist()
        assert written["built"].tolist() == houses["built"].tolist()
    with sqlite3.connect("t.sqlite") as connection:
        names = connection.execute("select name from sqlite_master where type = 'table'").fetchall()
        assert {name for (name,) in names} == {"houses", "empty", "predictions"}
        assert connection.execute("select price from predictions").fetchall()[0][0] == expected["price"][0]
    connection.close()


def test_standard_input(houses: pd.DataFrame, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture):
    expected = fit("t.csv", out="csv")

    def piped(name: str) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path(name).read_bytes())))

    piped("feb.csv")
    pd.testing.assert_frame_equal(fit("jan.csv", "-", out="run"), expected)
    piped("t.csv")
    assert command("predict", "run", "-", "--keep", "id", "--out", "o.csv") == 0
    pd.testing.assert_frame_equal(
        pd.read_csv("o.csv", dtype={"id": str}), pd.concat([houses[["id"]], expected], axis=1)
    )
    capsys.readouterr()
    piped("o.csv")
    assert command("predict", "run", "-") == 2
    assert capsys.readouterr().err.startswith("regard: standard input: ")
    assert command("fit", "-", "-", "--out", "x", *QUICK) == 2


def test_a_large_database_is_predicted_in_chunks(houses: pd.DataFrame, monkeypatch: pytest.MonkeyPatch):
    houses.drop(columns="built").to_csv("plain.csv", index=False)  # dates would be read whole
    assert command("fit", "plain.csv", "--out", "run", *QUICK) == 0
    assert command("predict", "run", "t.csv", "--out", "whole.csv", "--keep", "id") == 0
    monkeypatch.setattr(chunks, "ROWS", 25)
    monkeypatch.setattr(chunks, "LARGE", 100)
    for table in ("t.sqlite::houses", "t.duckdb"):
        assert command("predict", "run", table, "--out", "parts.csv", "--keep", "id") == 0
        assert Path("parts.csv").read_text() == Path("whole.csv").read_text()
        assert command("predict", "run", table, "--out", "parts.xlsx", "--keep", "id") == 0
        assert read_table("parts.xlsx")["id"].tolist() == houses["id"].tolist()
    assert not list(Path().glob(".*"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("fit", "t.sqlite", "--out", "x", *QUICK), "t.sqlite: has the tables houses, empty; name one"),
        (("fit", "t.sqlite::empty", "--out", "x", *QUICK), "t.sqlite::empty: has no rows"),
        (("fit", "t.xlsx::House", "--out", "x", *QUICK), "t.xlsx: has no sheet 'House'; did you mean 'Houses'?"),
        (("fit", "t.csv", "t.xlsx", "bad.csv", "--out", "x", *QUICK), "bad.csv: has no column 'id', which t.csv has"),
        (("fit", "t.sqlite", "--query", "delete from houses", "--out", "x", *QUICK), "--query: t.sqlite cannot run it"),
        (("compare", "t.csv", "--query", "select 1", "--target", "price"), "--query: t.csv is no database"),
        (("fit", "t.xls", "--out", "x", *QUICK), "t.xls: cannot be read (No such file"),
    ],
)
def test_bad_input_is_one_line(
    words: tuple[str, ...], message: str, houses: pd.DataFrame, capsys: pytest.CaptureFixture
):
    Path("bad.csv").write_text("a,b\n1,2\n")
    assert command(*words) in (1, 2)
    assert capsys.readouterr().err.splitlines()[-1].startswith(f"regard: {message}")
    assert not Path("x").exists()
