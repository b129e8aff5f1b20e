"""Rows that belong together, such as the visits of a customer, are noticed, and ordinary columns are not."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from regard.tables.fit_settings import FitSettings
from regard.tables.fitting import fit_problem
from regard.tables.groups import candidates
from regard.tables.problem import Problem, read_problem
from tests.command import regard
from tests.tables.conftest import REAL
from tests.tables.test_report import check_page


def visits(numbers: bool = False, customers: int = 90) -> pd.DataFrame:
    """Several rows of each customer, whose label is chance."""
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(customers), rng.integers(2, 7, customers))
    names = (
        rng.permutation(np.arange(1000, 9999))[:customers] if numbers else [f"C{one:03}" for one in range(customers)]
    )
    frame = pd.DataFrame({
        "customer": np.array(names)[who], "print": rng.normal(50, 10, customers).round(2)[who],
        "noise": rng.normal(size=len(who)), "channel": rng.choice(["app", "shop", "web"], len(who)),
    })  # fmt: skip
    return frame.assign(churn=rng.integers(0, 2, customers)[who])


def notes_of(frame: pd.DataFrame, target: str, folder: Path, notes: list[str], ignore: tuple[str, ...] = ()) -> list:
    frame.to_csv(folder / "t.csv", index=False)
    problem = read_problem(folder / "t.csv", target, ignore=ignore)
    fit_problem(problem, FitSettings(mode="in_context", weights=str(REAL)))
    return [line for line in notes if line.startswith("note: ")]


@pytest.mark.parametrize("numbers", [False, True])
def test_rows_of_a_group_with_one_target_are_noticed(numbers: bool, tmp_path: Path, notes: list[str]):
    (note,) = notes_of(visits(numbers), "churn", tmp_path, notes)
    assert note.startswith("note: rows with the same 'customer' have the same 'churn'; where 'customer' was not seen")
    assert note.endswith("To score such rows: --group customer")
    unseen, seen = (float(part.split()[0].rstrip(".")) for part in note.split("AUC is ")[1].split("instead of "))
    assert unseen < 0.7 < 0.95 < seen


def test_a_group_that_is_no_feature_is_noticed_too(tmp_path: Path, notes: list[str]):
    (note,) = notes_of(visits(), "churn", tmp_path, notes, ignore=("customer",))
    assert note.endswith("To score such rows: --group customer instead of --ignore")


def test_a_leak_is_scored_where_the_group_is_unseen(tmp_path: Path, notes: list[str]):
    frame, rng = visits(), np.random.default_rng(1)
    frame["fee"] = np.where(frame["churn"] == 1, rng.uniform(5, 30, len(frame)).round(2), 0.0)
    group, leak = notes_of(frame, "churn", tmp_path, notes)
    assert group.startswith("note: rows with the same 'customer'")
    assert leak.startswith("note: 'fee' (AUC 1.0000 alone) may give 'churn' away; without it, and where 'customer' was")
    assert float(leak.split("not seen before, AUC ")[1].split()[0].rstrip(".")) < 0.7


def ordinary(kind: str, rows: int = 1500) -> tuple[pd.DataFrame, pd.Series]:
    """Houses: their price depends on the area, the age and more or less on the neighbourhood."""
    rng = np.random.default_rng(0)
    place = rng.integers(0, 30, rows)
    frame = pd.DataFrame({
        "neighbourhood": np.array([f"n{one}" for one in range(30)])[place], "area": rng.integers(40, 200, rows),
        "age": rng.integers(0, 90, rows), "street": rng.choice([f"s{one}" for one in range(400)], rows),
        "zip": rng.integers(10000, 10300, rows), "paid": np.where(rng.random(rows) < 0.7, 0, rng.integers(1, 60, rows)),
    })  # fmt: skip
    level = rng.normal(0, 60, 30)[place]
    targets = {
        "price": 3 * frame["area"] - frame["age"] + level + rng.normal(0, 5, rows),
        "area": frame["area"] + rng.normal(0, 0.1, rows),
        "neighbourhood": level + rng.normal(0, 30, rows),
        "paid": (frame["paid"] > 0).astype(float),
        "noise": pd.Series(rng.normal(size=rows)),
        "old": pd.Series(np.where(frame["age"] > 50, "yes", "no")),
    }
    return frame, pd.Series(targets[kind], name=kind)


@pytest.mark.parametrize("kind", ["price", "area", "neighbourhood", "paid", "noise", "old"])
def test_ordinary_columns_are_no_groups(kind: str):
    frame, target = ordinary(kind)
    problem = Problem(frame, target, np.arange(len(frame)), 0, kind == "old", "")
    assert candidates(problem, {}) == []


def test_the_report_holds_out_as_fit_did(tmp_path: Path, capsys: pytest.CaptureFixture):
    frame = visits(customers=40)
    frame["day"] = pd.date_range("2024-01-01", periods=len(frame))
    frame.to_csv(tmp_path / "t.csv", index=False)
    for option, column, how in (
        ("--group", "customer", "whole groups of 'customer'"),
        ("--time", "day", "the last ones by 'day'"),
    ):
        run, page = tmp_path / column, tmp_path / f"{column}.html"
        words = ["--target", "churn", "--mode", "in_context", option, column]
        assert regard("fit", tmp_path / "t.csv", *words, "--out", run) == 0
        assert regard("explain", run, "--report", page) == 0
        text = "".join(check_page(page.read_text()).itertext())
        assert f"rows ({how}) that the model had not seen" in text
        assert f"regard compare {tmp_path / 't.csv'} --target churn {option} {column}" in text
        assert "To score" not in text
    capsys.readouterr()


@pytest.mark.parametrize("option", [("--group", "customer"), ("--time", "day")])
def test_compare_holds_out_groups_or_the_last_rows(
    option: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture
):
    frame = visits(customers=20)
    frame["day"] = pd.date_range("2024-01-01", periods=len(frame))
    frame.to_csv(tmp_path / "t.csv", index=False)
    words = ["--target", "churn", "--mode", "in_context", "--folds", "3", "--json"]
    assert regard("compare", tmp_path / "t.csv", *words, *option) == 0
    assert '"linear"' in capsys.readouterr().out
    assert regard("compare", tmp_path / "t.csv", *words, option[0], "dya") == 2
    assert f"the table has no column 'dya' ({option[0]})" in capsys.readouterr().err
    if option[0] == "--group":
        assert regard("compare", tmp_path / "t.csv", *words[:-2], "30", *option) == 2
        assert "--folds 30: the groups or times are enough for 20" in capsys.readouterr().err
