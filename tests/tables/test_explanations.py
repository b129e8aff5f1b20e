"""Results in files: the effects of several rows, scores, comparisons and fits as JSON and as tables."""

import json
from pathlib import Path

import pandas as pd
import pytest

import regard
from regard.data.tables.files import read_table
from tests.command import regard as command
from tests.tables.test_keys import QUICK, flats


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("flats")
    flats().assign(dear=lambda frame: frame["price"] > 300).to_csv(folder / "flats.csv", index=False)
    return folder


@pytest.fixture
def run(folder: Path) -> Path:
    run = folder / "run"
    if not run.exists():
        assert (
            command("fit", folder / "flats.csv", "--target", "price", "--ignore", "id", "dear", "--out", run, *QUICK)
            == 0
        )
    return run


def test_effects_of_several_rows_are_those_of_each(run: Path, folder: Path, tmp_path: Path):
    out = tmp_path / "new" / "effects.parquet"
    assert command("explain", run, folder / "flats.csv", "--row", 5, 2, "--out", out) == 0
    table, model, frame = read_table(out), regard.load(run), read_table(folder / "flats.csv")
    assert table["row"].tolist() == [5, 2]
    assert table["id"].tolist() == ["R-5", "R-2"]
    for place, row in enumerate((5, 2)):
        [evidence] = model.evidence(frame.iloc[[row]])
        effects = {f"effect_{name}": effect for name, effect in evidence.columns["effect"].items()}
        assert table.loc[place, list(effects)].to_dict() == pytest.approx(effects, rel=1e-6)
        assert table.loc[place, "average"] + sum(effects.values()) == pytest.approx(
            table.loc[place, "prediction"], rel=1e-5
        )
    sizes = table.filter(like="effect_").abs().mean()
    assert sizes.is_monotonic_decreasing


def test_several_rows_are_one_table_on_the_screen(run: Path, folder: Path, capsys: pytest.CaptureFixture):
    assert command("explain", run, folder / "flats.csv", "--row", 5, 2) == 0
    shown = capsys.readouterr().out
    assert shown.splitlines()[1].split()[:4] == ["row", "id", "dear", "prediction"]
    assert [line.split()[:2] for line in shown.splitlines()[2:4]] == [["5", "R-5"], ["2", "R-2"]]


def test_all_rows_are_a_line_of_json_each(run: Path, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture):
    flats().head(3).drop(columns="price").to_csv(tmp_path / "new.csv", index=False)
    assert command("explain", run, tmp_path / "new.csv", "--row", "all", "--out", tmp_path / "e.json") == 0
    capsys.readouterr()
    assert command("explain", run, tmp_path / "new.csv", "--row", "all", "--json") == 0
    printed = capsys.readouterr().out
    assert (tmp_path / "e.json").read_text() == printed
    assert [json.loads(line)["row"] for line in printed.splitlines()] == [0, 1, 2]


def test_scores_and_comparisons_are_written(run: Path, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture):
    assert command("evaluate", run, folder / "flats.csv", "--out", tmp_path / "scores.json") == 0
    assert "rmse: " in capsys.readouterr().out
    assert command("evaluate", run, folder / "flats.csv", "--json") == 0
    assert (tmp_path / "scores.json").read_text() == capsys.readouterr().out


def test_a_fit_is_one_json_object(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture):
    words = ("--target", "dear", "--ignore", "price", "id", "--cost", "1:3", "--json", *QUICK)
    assert command("fit", folder / "flats.csv", *words, "--out", tmp_path / "run") == 0
    printed = capsys.readouterr()
    document = json.loads(printed.out)
    assert document["task"] == "classification"
    assert document["rows"] == 70
    assert document["ignored"] == ["price", "id"]
    assert [column["name"] for column in document["columns"]] == ["area", "city", "agent", "sold"]
    comparisons = {"most_frequent_training_class_accuracy", "detected_class_rows"}
    assert set(document["scores"]) == {"auc", "accuracy", "log_loss", *comparisons}
    assert set(document["thresholds"]) == {"threshold_cost", "threshold_f1"}
    assert all(f"note: {note}" in printed.err for note in document["notes"])
    assert printed.err.count("note: ") == len(document["notes"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--json", "--out", "e.csv"), "--out e.csv: JSON is written to a file that ends in .json or .jsonl"),
        (("--out", "e.pdf"), "e.pdf: "),
        (("--out", "."), "--out .: is a folder"),
        (("--row", "2", "70", "--out", "e.csv"), "--row 70: "),
    ],
)
def test_files_that_cannot_be_written_are_refused_first(
    words: tuple, message: str, run: Path, folder: Path, tmp_path: Path, monkeypatch, capsys: pytest.CaptureFixture
):
    monkeypatch.chdir(tmp_path)
    assert command("explain", run, folder / "flats.csv", *words) != 0
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_comparison_is_a_table(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from sklearn.dummy import DummyRegressor

    monkeypatch.setattr("regard.tables.compare.installed_baselines", lambda: {"mean": lambda *_: DummyRegressor()})
    words = ("--target", "price", "--ignore", "dear", "--folds", 2, *QUICK)
    for name in ("c.csv", "c.json"):
        assert command("compare", folder / "flats.csv", *words, "--out", tmp_path / name) == 0
    table, document = pd.read_csv(tmp_path / "c.csv"), json.loads((tmp_path / "c.json").read_text())
    assert table["model"].tolist() == list(document)
    assert table["rmse"].tolist() == pytest.approx([one["rmse"] for one in document.values()])
