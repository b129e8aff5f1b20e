"""Rows added after the fit: the same as fitting all of them if nothing is trained; a run gets all of them or none."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import regard
from regard.core.errors import ConfigError
from regard.store import CONFIG, read_config
from regard.tables import NPTClassifier, NPTRegressor
from regard.tables.added_scores import verdict
from regard.tables.adding import extend_predictor
from regard.tables.calibrate import Calibration
from regard.tables.encode.columns import Columns
from regard.tables.encode.growth import extend_columns
from regard.tables.encode.table import EncodedTable
from regard.tables.encode.text import add_texts, text_positions
from regard.tables.ensemble import Ensemble
from regard.tables.network.boosted_trees import BoostedTreesPredictor, grow_trees
from regard.tables.network.in_context import InContextPredictor, Members
from regard.tables.network.learned_keys import LearnedKeysPredictor, train_learned_keys
from regard.tables.network.pretrained import pretrained_model
from tests.command import regard as command

QUICK: dict[str, Any] = {"mode": "in_context", "members": 2, "random_state": 0}


def some_rows(count: int, seed: int, cities: tuple[str, ...] = ("Bonn", "Lima", "Oslo")) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    return pd.DataFrame({
        "area": np.where(random.random(count) < 0.1, np.nan, random.integers(40, 200, count)),
        "city": random.choice(cities, count),
        "sold": pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 300, count), unit="D"),
    })  # fmt: skip


def number(frame: pd.DataFrame) -> pd.Series:
    return (frame["area"].fillna(100) * 3 + (frame["city"] == "Oslo") * 50).rename("price")


def label(frame: pd.DataFrame) -> pd.Series:
    return pd.Series(np.where(number(frame) > 400, "dear", "cheap"), name="class")


@pytest.mark.parametrize("kind", [NPTRegressor, NPTClassifier])
def test_adding_rows_in_context_is_fitting_all_of_them(kind: Any, tmp_path: Path):
    old, more, new = some_rows(60, 0), some_rows(40, 1, ("Oslo", "Zug")), some_rows(20, 2, ("Bonn", "Zug", "Ulm"))
    both = pd.concat([old, more], ignore_index=True)
    target = number if kind is NPTRegressor else label
    added = kind(**QUICK).fit(old, target(old)).add(more, target(more))
    whole = kind(**QUICK).fit(both, target(both))
    assert [one.to_dict() for one in added.columns_.columns] == [one.to_dict() for one in whole.columns_.columns]
    predict = "predict" if kind is NPTRegressor else "predict_proba"
    np.testing.assert_array_equal(getattr(added, predict)(new), getattr(whole, predict)(new))
    assert added.rows_.tolist() == list(range(100))
    added.save(tmp_path / "run")
    np.testing.assert_array_equal(getattr(regard.load(tmp_path / "run"), predict)(new), getattr(whole, predict)(new))


def test_every_predictor_keeps_what_it_learned_and_gets_the_rows():
    generator = torch.Generator().manual_seed(0)
    category = torch.tensor([False, False, True])

    def table(rows: int, levels: int) -> EncodedTable:
        codes = torch.randint(0, levels, (rows, 1), generator=generator).float()
        values = torch.cat([torch.randn(rows, 2, generator=generator), codes], 1)
        return EncodedTable(values, category, (values[:, 0] > 0).float(), 2)

    known, new, queries = table(80, 3), table(30, 5), table(10, 6).values  # more levels than were trained on
    joined = EncodedTable(
        torch.cat([known.values, new.values]), category, torch.cat([known.target, new.target]), known.classes
    )
    keys = train_learned_keys(known, new, 0.3, 0)
    trees = grow_trees(known, new, 0.1, 0)
    model = pretrained_model()

    def parts(of: EncodedTable) -> list[Any]:
        return [
            InContextPredictor(model, of, Members(2), 0),
            LearnedKeysPredictor(keys, of, 0),
            BoostedTreesPredictor(*trees, of),
        ]

    extended = extend_predictor(Ensemble(parts(known), [0.5, 0.3, 0.2], Calibration(1.3)), joined, 80, 0)
    assert isinstance(extended, Ensemble)
    expected = Ensemble(parts(joined), [0.5, 0.3, 0.2], Calibration(1.3))
    torch.testing.assert_close(extended.predict(queries), expected.predict(queries), rtol=0, atol=1e-6)
    torch.testing.assert_close(extended.row_weights(queries).sum(1), torch.ones(10))
    assert extended.row_weights(queries).shape == (10, 110)


def test_a_network_of_its_own_attends_to_added_rows(tmp_path: Path):
    old, more, new = some_rows(50, 0), some_rows(30, 1, ("Oslo", "Zug")), some_rows(5, 2)
    model = NPTRegressor(mode="scratch", time_limit=0.5, random_state=0, transductive=True)
    model.fit(old, number(old), unlabelled=some_rows(20, 3))
    before = model.predict(new)
    model.add(more, number(more))
    predictor = model.predictors_[0]
    standardised = predictor.table
    assert len(standardised.cells) == 100
    numbers = standardised.cells[:80, -1].double() * standardised.std[-1] + standardised.mean[-1]
    np.testing.assert_allclose(numbers, pd.concat([number(old), number(more)]), rtol=1e-4)
    assert standardised.cells[80:, -1].isnan().all()  # rows without a target stay behind
    assert ((predictor.context_rows >= 50) & (predictor.context_rows < 80)).any()
    assert not np.array_equal(before, model.predict(new))
    model.save(tmp_path / "run")
    np.testing.assert_array_equal(regard.load(tmp_path / "run").predict(new), model.predict(new))
    assert sum(each.rows["weight"].sum() for each in model.evidence(new, top=200)) <= 5 + 1e-6


def test_codes_and_ranks_stay_when_columns_grow():
    random = np.random.default_rng(0)
    words = ["sun", "river", "a park", "noise", "old walls", "new"]

    def texts(count: int) -> list[str]:
        return [" ".join(random.choice(words, 4)) + f" {random.integers(1e6)}" for _ in range(count)]

    repeated = texts(40)
    first = pd.DataFrame({
        "note": texts(100), "often": random.choice(repeated[:35], 100), "city": random.choice(["b", "d"], 100)
    })  # fmt: skip
    second = pd.DataFrame({
        "note": texts(60), "often": random.choice(repeated, 60), "city": random.choice(["a", "b", "c"], 60)
    })  # fmt: skip
    columns = Columns.fit(first, {"often": "text"})
    assert columns.columns[1].repeats
    grown = extend_columns(extend_columns(columns, second[:30]), second)  # twice, as when rows come again
    np.testing.assert_array_equal(columns.encode(first).values, grown.encode(first).values)
    assert grown.columns[2].categories == ("b", "d", "a", "c")
    for frame in (first, second):
        decoded = grown.decode(grown.encode(frame).values)
        pd.testing.assert_frame_equal(decoded, frame.astype(object), check_dtype=False)
    unseen = columns.encode(second).values[:, 0]
    np.testing.assert_array_equal(np.floor(unseen), np.floor(grown.encode(second).values[:, 0]))  # the same neighbours


def test_a_new_text_stands_between_its_neighbours():
    known, ranks = add_texts(["bb", "cccc", "dd"], ("a", "ccc"), repeats=False)
    assert known == ("a", "bb", "dd", "ccc", "cccc")
    np.testing.assert_allclose(ranks, [0, 1 / 3, 2 / 3, 1, 1.5])
    np.testing.assert_allclose(text_positions(["ccc", "be", "", "x" * 9], known, False, ranks), [1, 0.5, -0.5, 1.75])
    assert add_texts(["bb"], ("a", "ccc"), repeats=True) == (("a", "bb", "ccc"), (0, 2, 1))


@pytest.mark.parametrize(
    ("change", "target", "message"),
    [
        (lambda rows: rows.drop(columns="city"), None, "the table has no column 'city'"),
        (lambda rows: rows.assign(area="large"), None, "'large' is not a number"),
        (lambda rows: rows, ["cheap"] * 3, "X has 5 rows and y 3"),
        (lambda rows: rows, ["cheap", "dear", "free", "dear", "dear"], "row 2 .* class 'free', which no training row"),
        (lambda rows: rows, [["cheap", "dear"]] * 5, "has 2 targets, not 1"),
        (lambda rows: rows, [None, "dear", "dear", "dear", "dear"], "row 0 .* has no target"),
    ],
)
def test_rows_that_cannot_be_added_change_nothing(change: Any, target: Any, message: str):
    old, more = some_rows(40, 0), some_rows(5, 1)
    model = NPTClassifier(**QUICK).fit(old, label(old))
    before = {name: getattr(model, name) for name in ("columns_", "rows_", "tables_", "predictors_")}
    with pytest.raises(ConfigError, match=message):
        model.add(change(more), label(more) if target is None else target)
    assert all(getattr(model, name) is value for name, value in before.items())


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture) -> Path:
    frame = some_rows(60, 0)
    frame.assign(price=number(frame), rent=number(frame) / 10).to_csv(tmp_path / "houses.csv", index=False)
    options = ("--target", "price", "--ignore", "rent", "--mode", "in_context", "--time", "sold")
    assert command("fit", tmp_path / "houses.csv", *options, "--out", tmp_path / "run") == 0
    capsys.readouterr()
    return tmp_path / "run"


def test_rows_are_added_to_a_run(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture):
    more = some_rows(31, 1, ("Oslo", "Zug"))
    more.assign(price=number(more).where(more.index != 2)).to_csv(tmp_path / "more.csv", index=False)
    assert command("fit", "--add", tmp_path / "more.csv", "--out", run) == 0
    printed = capsys.readouterr()
    for words in ("note: 1 row without a target: dropped", "'city': new categories: 'Zug'", "30 rows added, 90 in all"):
        assert words in printed.err, words
    assert printed.out.count("RMSE") == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["houses.csv", "more.csv", "run"]
    model = regard.load(run)
    assert model.rows_.tolist() == [*range(60), *(60 + row for row in range(31) if row != 2)]
    (added,) = read_config(run)["added"]
    assert (added["rows"], added["first_row"], set(added["before"])) == (30, 60, {"rmse", "mae", "r2"})
    assert read_config(run)["scores"]  # of the fit, which stay
    assert read_config(run)["split"] == "--time sold"  # the report holds out as fit did
    assert command("show", run) == 0
    assert "added: 30 rows of" in capsys.readouterr().out
    later = some_rows(20, 2)
    later.assign(price=number(later)).to_csv(tmp_path / "later.csv", index=False)
    assert command("fit", "--add", tmp_path / "later.csv", "--out", run) == 0
    assert len(read_config(run)["added"]) == 2


def test_rows_are_added_with_a_json_object(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture):
    more = some_rows(21, 1)
    more.assign(price=number(more).where(more.index != 2)).to_csv(tmp_path / "more.csv", index=False)
    assert command("fit", "--add", tmp_path / "more.csv", "--out", run, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["rows"], found["first_row"], found["total"]) == (20, 60, 80)
    assert found["notes"] == ["1 row without a target: dropped"]
    assert {name: found[name] for name in ("before", "after")} == {
        name: read_config(run)["added"][0][name] for name in ("before", "after")
    }


@pytest.mark.parametrize(
    "words",
    [
        ("houses.csv",), ("--target", "price"), ("--mode", "in_context"), ("--query", "select 1"), ("--cost", "1:2"),
        ("--seed", 3), ("--time-limit", 5), ("--overwrite",),
    ],
)  # fmt: skip
def test_settings_of_a_fit_do_not_go_with_added_rows(words: Any, tmp_path: Path, capsys: pytest.CaptureFixture):
    assert command("fit", *words, "--add", tmp_path / "more.csv", "--out", tmp_path / "run") == 2
    assert "--add: goes with --out and --json alone" in capsys.readouterr().err.splitlines()[-1]


def test_the_scores_before_are_those_of_evaluate(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture):
    more = some_rows(24, 1)
    more.assign(price=number(more)).to_csv(tmp_path / "more.csv", index=False)
    assert command("evaluate", run, tmp_path / "more.csv", "--json") == 0
    expected = json.loads(capsys.readouterr().out)
    assert command("fit", "--add", tmp_path / "more.csv", "--out", run) == 0
    before = read_config(run)["added"][0]["before"]
    np.testing.assert_allclose(before["rmse"], expected["rmse"], rtol=1e-5)


def test_a_run_stays_as_it_was_if_rows_cannot_be_added(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    def contents() -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in run.iterdir() if path.name != ".lock"}

    before, path = contents(), tmp_path / "more.csv"
    for text, message in (
        ("area,city,sold\n50,Oslo,2024-01-01\n", "more.csv: has no column 'price', the target"),
        ("area,city,sold,price\n50,Oslo,2024-01-01,\n", "no row has a target"),
        ("area,sold,price\n50,2024-01-01,3\n", "more.csv: the table has no column 'city'"),
        ("area,city,sold,price\n50,Oslo,soon,3\n", "column 'sold', row 0 (counted from 0): 'soon' is not a date"),
        ("area,city,sold,price\n50,Oslo,2024-01-01,much\n", "'much' is not a number"),
    ):
        path.write_text(text)
        assert command("fit", "--add", path, "--out", run) in (1, 2)
        assert message in capsys.readouterr().err.splitlines()[-1]
        assert contents() == before
    path.write_text("area,city,sold,price\n50,Oslo,2024-01-01,3\n")
    assert command("fit", "--add", path, "--out", tmp_path / "none") == 1
    rename = Path.rename

    def fails(self: Path, target: Path) -> Path:
        if self.name.endswith(".new.part"):
            raise OSError("no")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fails)
    assert command("fit", "--add", path, "--out", run) != 0
    assert contents() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["houses.csv", "more.csv", "run"]


@pytest.mark.parametrize(
    ("key", "value"), [("rows", 0), ("rows", "x"), ("before", {"rmse": "good"}), ("first_row", -1), ("more", 1)]
)
def test_what_a_run_says_of_added_rows_is_checked(run: Path, key: str, value: Any):
    import yaml

    config = read_config(run)
    config["added"] = [{"table": "t", "rows": 1, "first_row": 0, "before": {}, "after": {}} | {key: value}]
    (run / CONFIG).write_text(yaml.safe_dump(config))
    with pytest.raises(Exception, match=f"added.*{key}|before"):
        regard.load(run)


def test_a_difference_of_scores_is_called_noise_or_not():
    assert verdict(np.array([1.0, -1.0, 0.5, -0.6])) == "the difference is within the noise of these 4 rows"
    assert verdict(np.array([1.0, 1.1, 0.9, 1.0])) == "the gain is more than the noise of these 4 rows"
    assert verdict(-np.array([1.0, 1.1, 0.9, 1.0])) == "the loss is more than the noise of these 4 rows"
    assert verdict(np.zeros(5)) == "the difference is within the noise of these 5 rows"
