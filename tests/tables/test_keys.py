"""Key columns: ignored ones are kept, shown first with the evidence, and never read."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import regard
from regard.core.errors import ConfigError, UserError
from regard.tables import NPTClassifier, NPTRegressor
from tests.command import regard as command

QUICK = ("--mode", "in_context")


def flats(rows: int = 70) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({
        "area": rng.normal(80, 20, rows), "city": rng.choice(["Oslo", "Bonn"], rows),
        "id": [f"R-{number}" for number in range(rows)],
        "agent": rng.choice(["Berg", "Havn"], rows), "sold": pd.date_range("2024-01-01", periods=rows).astype(str),
    })  # fmt: skip
    frame["price"] = 3 * frame["area"] + 100 * (frame["city"] == "Oslo")
    frame.loc[4, "sold"] = None
    return frame


@pytest.fixture
def table(tmp_path: Path) -> Path:
    flats().to_csv(tmp_path / "flats.csv", index=False)
    return tmp_path / "flats.csv"


@pytest.fixture
def run(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture) -> Path:
    words = ("--target", "price", "--ignore", "id", "sold", "--group", "agent", "--out", tmp_path / "run", *QUICK)
    assert command("fit", table, *words) == 0
    capsys.readouterr()
    return tmp_path / "run"


def test_ignored_columns_stand_first_in_the_evidence(run: Path, table: Path, capsys: pytest.CaptureFixture):
    frame, model = flats(), regard.load(run)
    assert list(model.feature_names_in_) == ["area", "city"]
    [evidence] = model.evidence(frame.iloc[[9]], top=70)
    assert list(evidence.rows)[:5] == ["weight", "target", "id", "sold", "agent"]
    assert evidence.keys == ("id", "sold", "agent")
    for name in ("id", "agent"):
        assert evidence.rows[name].tolist() == frame.loc[evidence.rows.index, name].tolist()
    assert evidence.rows.loc[4, "sold"] is None
    assert evidence.rows.loc[5, "sold"] == "2024-01-06"
    assert command("explain", run, table, "--row", 9, "--top", 3) == 0
    shown = capsys.readouterr().out
    assert "Row 9 of" in shown
    assert "id R-9" in shown
    assert shown.split("largest weight")[1].split()[3:8] == ["row", "weight", "price", "id", "sold"]
    assert command("explain", run, table, "--row", 9, "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["keys"] == {"id": "R-9", "sold": "2024-01-10", "agent": frame["agent"][9]}
    for row in document["rows"]:
        assert row["keys"]["id"] == f"R-{row['row']}"
        assert set(row["cells"]) == {"area", "city"}


def test_an_ignored_column_changes_no_prediction():
    frame = flats()
    features, target = frame[["area", "city"]], frame["price"]
    model = NPTRegressor(mode="in_context", random_state=0)
    plain = model.fit(features, target).predict(features)
    kinds = {"id": "ignore", "city": "category"}
    keyed = model.set_params(kinds=kinds).fit(frame[["id", "area", "city"]], target)
    np.testing.assert_array_equal(keyed.predict(features), plain)
    np.testing.assert_array_equal(keyed.predict(frame), plain)  # where it is there, it is not looked at
    weights = np.arange(70) % 3  # repeated and dropped rows keep their own keys
    [evidence] = keyed.fit(frame[["id", "area", "city"]], target, sample_weight=weights).evidence(features[:1], top=70)
    assert evidence.rows["id"].tolist() == [f"R-{row}" for row in evidence.rows.index]


def test_columns_that_cannot_be_ignored():
    frame = flats()
    for kinds, message in (
        ({"idd": "ignore"}, "did you mean 'id'"),
        (dict.fromkeys(["area", "id"], "ignore"), "ignored"),
    ):
        with pytest.raises(ConfigError, match=message):
            NPTRegressor(mode="in_context", kinds=kinds).fit(frame[["area", "id"]], frame["price"])
    with pytest.raises(ConfigError, match="there is no column 'a'"):
        NPTRegressor(mode="in_context", kinds={"a": "ignore"}).fit(np.zeros((3, 2)), np.arange(3.0))


def test_a_feature_that_looks_like_an_identifier_stands_first():
    frame = flats()
    model = NPTClassifier(mode="in_context", random_state=0).fit(frame[["area", "id"]], frame["city"])
    [evidence] = model.evidence(frame.loc[[3], ["area", "id"]])
    assert evidence.keys == ("id",)
    assert list(evidence.rows) == ["weight", "target", "id", "area"]


def test_a_row_is_found_again_after_its_cells_were_typed():
    """Numbers are shown with seven digits, and the scores of a text differ in training rows."""
    frame = flats()
    frame["note"] = [f"{city} flat with {n} windows" for n, city in enumerate(frame["city"])]
    features = frame[["area", "note"]]
    model = NPTRegressor(mode="in_context", random_state=0).fit(features, frame["price"])
    typed = features.assign(area=[float(f"{area:.7g}") for area in features["area"]])
    for row in (0, 11):
        [evidence] = model.evidence(typed.iloc[[row]], top=70)
        assert evidence.own_row == row
        assert evidence.rows.loc[row, "weight"] == 0
    changed = typed.iloc[[11]].assign(area=typed["area"][11] + 0.01)
    assert model.evidence(changed)[0].own_row is None


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda keys: keys["columns"].pop(), "are ignored"),
        (lambda keys: keys["columns"][0]["cells"].pop(), "columns[0].cells: must be a list of 70 to 70"),
        (lambda keys: keys["columns"][0]["cells"].__setitem__(1, ["x"]), "cells[1]: must be text"),
        (lambda keys: keys["columns"][0].update(more=1), "more: is unknown"),
    ],
)
def test_damaged_keys_are_one_line(damage, message: str, run: Path):
    keys = json.loads((run / "keys.json").read_text())
    damage(keys)
    (run / "keys.json").write_text(json.dumps(keys))
    with pytest.raises(UserError) as error:
        regard.load(run)
    assert message in str(error.value)
    assert "keys.json" in str(error.value)


def test_a_run_without_ignored_columns_replaces_one_with_them(run: Path, table: Path):
    assert command("fit", table, "--target", "price", "--out", run, "--overwrite", *QUICK) == 0
    assert not (run / "keys.json").exists()
    assert regard.load(run).keys_.shape == (70, 0)
