"""Several targets in one run, and any column as the target of a fitted table."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import regard
from regard.core.errors import ConfigError, UserError
from regard.tables import NPTClassifier, NPTRegressor, retarget
from regard.tables.several_targets import read_problems, single_target
from tests.command import regard as command

QUICK = ("--mode", "in_context")


def some_rows(count: int, seed: int = 0) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    rows = pd.DataFrame({
        "area": random.integers(40, 200, count).astype(float), "city": random.choice(["Bonn", "Oslo"], count)
    })  # fmt: skip
    rows["price"] = 3 * rows["area"] + 50 * (rows["city"] == "Oslo")
    rows["rent"] = (rows["price"] / 20).round(2)
    rows["class"] = np.where(rows["price"] > 350, "dear", "cheap")
    rows["sea"] = random.choice(["yes", "no"], count)
    return rows


@pytest.fixture
def houses(tmp_path: Path) -> Path:
    rows = some_rows(50)
    rows.loc[3, "price"] = rows.loc[5, "rent"] = None
    rows.to_csv(tmp_path / "houses.csv", index=False)
    return tmp_path / "houses.csv"


def test_several_targets_from_fit_to_evaluate(houses: Path, tmp_path: Path, capsys: pytest.CaptureFixture):
    run, new = tmp_path / "run", tmp_path / "new.csv"
    options = ("--ignore", "class", "--kind", "price=number", "--out", run, *QUICK)
    assert command("fit", houses, "--target", "price", "rent", *options) == 0
    said = capsys.readouterr()
    assert "2 rows have no 'price' or no 'rent': dropped" in said.err
    assert "on held-out rows: price: RMSE" in said.out
    assert "; rent: RMSE" in said.out
    model = regard.load(run)
    assert model.target_names_ == ["price", "rent"]
    assert list(model.feature_names_in_) == ["area", "city", "sea"]
    rows = some_rows(50).drop(index=[3, 5])
    whole = NPTRegressor(mode="in_context", random_state=0).fit(rows[["area", "city", "sea"]], rows[["price", "rent"]])
    np.testing.assert_array_equal(model.predict(some_rows(9, 1)), whole.predict(some_rows(9, 1)))
    some_rows(9, 1).to_csv(new, index=False)
    assert command("predict", run, new) == 0
    assert capsys.readouterr().out.splitlines()[0].startswith("price,price_q5,price_q50,price_q95,rent,rent_q5")
    assert command("explain", run, new, "--row", 2, "--json") == 0
    assert [json.loads(line)["target"] for line in capsys.readouterr().out.splitlines()] == ["price", "rent"]
    assert command("evaluate", run, new, "--json") == 0
    assert {"price.rmse", "rent.rmse"} <= set(json.loads(capsys.readouterr().out))
    assert command("show", run) == 0
    assert "on held-out rows: price: RMSE" in capsys.readouterr().out
    assert command("fit", "--add", houses, "--out", run) == 1, "all of its rows are there already"
    some_rows(48, 2).to_csv(houses, index=False)
    assert command("fit", "--add", houses, "--out", run) == 0
    assert "price: RMSE" in capsys.readouterr().out
    assert len(regard.load(run).rows_) == 96


def test_targets_that_do_not_go_together_are_one_line(
    houses: Path, tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("regard.tables.fitting.fit_problems", lambda *_: pytest.fail("that was work"))
    for words, message in (
        ((houses, "--target", "price", "class"), "'price' is regression (it has"),
        ((houses, "--target", "price", "class"), "fit them in two runs, or set --task"),
        ((houses, "--target", "price", "price"), "--target price: is named twice"),
        ((houses, "--target", "price", "rents"), "has no column 'rents'; did you mean 'rent'?"),
        ((houses, "--target", "price", "rent", "--ignore", "rent"), "--ignore rent: is a target"),
        (("--target", "price", houses), "fit: name the table before --target"),
        ((houses,), "fit: --target is missing"),
        ((), "fit: name the table"),
    ):
        assert command("fit", *words, "--out", tmp_path / "run", *QUICK) in (1, 2)
        assert message in capsys.readouterr().err.splitlines()[-1]
    halves = [[*range(15), *[None] * 15], [*[None] * 15, *range(15)]]
    some_rows(30).assign(price=halves[0], rent=halves[1]).to_csv(houses, index=False)
    with pytest.raises(UserError, match="no row has 'price' and 'rent'"):
        read_problems(houses, ("price", "rent"))


def test_one_target_of_several_is_as_if_alone():
    rows, new = some_rows(50), some_rows(9, 1)
    model = NPTClassifier(mode="in_context", random_state=0).fit(rows[["area", "city"]], rows[["class", "sea"]])
    alone = NPTClassifier(mode="in_context", random_state=0).fit(rows[["area", "city"]], rows["sea"])
    one = single_target(model, 1)
    np.testing.assert_array_equal(one.predict_proba(new), alone.predict_proba(new))
    np.testing.assert_array_equal(one.classes_, alone.classes_)
    assert model.multi_output_


def test_any_column_can_be_the_target():
    rows, new = some_rows(60), some_rows(12, 1)
    model = NPTRegressor(mode="in_context", members=2, random_state=0).fit(rows[["area", "city", "sea"]], rows["price"])
    for column, kind in (("area", NPTRegressor), ("city", NPTClassifier)):
        others = [name for name in ("area", "city", "sea", "price") if name != column]
        expected = kind(mode="in_context", members=2, random_state=model.seed_).fit(rows[others], rows[column])
        np.testing.assert_array_equal(retarget(model, column, new).predict(new), expected.predict(new))
        without = new.drop(columns="price")
        expected = kind(mode="in_context", members=2, random_state=model.seed_).fit(rows[others[:-1]], rows[column])
        np.testing.assert_array_equal(retarget(model, column, without).predict(without), expected.predict(without))
    other = retarget(model, "area", new.assign(price=np.nan))
    assert list(other.feature_names_in_) == ["city", "sea"]  # what is unknown in every new row would mislead


def test_predict_takes_another_target(houses: Path, tmp_path: Path, capsys: pytest.CaptureFixture):
    run, new = tmp_path / "run", tmp_path / "new.csv"
    assert command("fit", houses, "--target", "class", "--ignore", "rent", "--out", run, *QUICK) == 0
    some_rows(9, 1).drop(columns=["area", "class"]).to_csv(new, index=False)
    capsys.readouterr()
    assert command("predict", run, new, "--target", "area") == 0
    said = capsys.readouterr()
    assert said.out.splitlines()[0] == "area,area_q5,area_q50,area_q95"
    assert "area: predicted from city, price, sea, with 50 training rows" in said.err
    assert command("predict", run, new, "--target", "city") == 0
    assert capsys.readouterr().out.splitlines()[0] == "city,p_Bonn,p_Oslo"
    assert command("predict", run, new, "--target", "aera") == 2
    assert "the training rows have no column 'aera'; did you mean 'area'?" in capsys.readouterr().err
    assert command("predict", run, new, "--target", "class") == 2  # as without the option: the table lacks a column
    assert "has no column 'area'" in capsys.readouterr().err
    frame = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=30), "x": np.arange(30.0)})
    dated = NPTRegressor(mode="in_context", members=1, random_state=0).fit(frame, frame["x"])
    with pytest.raises(ConfigError, match="'day' is a date; a number or a category"):
        retarget(dated, "day")
    with pytest.raises(ConfigError, match="no filled column but 'x'"):
        retarget(dated, "x", {"x": [1.0]})
