"""A rare class: detection scores against scikit-learn, thresholds in predict and evaluate, and the note of fit."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, confusion_matrix, f1_score, precision_score, recall_score

import regard.loading as regard_loading
from regard.cli.runs import until_all_detected
from regard.tables import NPTClassifier
from regard.tables.costs import Cost
from regard.tables.fit_settings import FitSettings
from regard.tables.fitting import fit_problem
from regard.tables.problem import read_problem
from regard.tables.proposals import Detected, _cost_line, _rare_class_line
from regard.tables.rare_class import best_threshold, confusion, detection_scores, rare_class
from regard.tables.rendering import scores_line
from regard.tables.scores import DETECTED_ROWS, MAJORITY
from tests.command import regard
from tests.tables.conftest import REAL


@given(st.integers(2, 60), st.integers(0, 99), st.sampled_from([0.2, 0.5, 0.8]))
def test_scores_are_those_of_scikit_learn(rows: int, seed: int, threshold: float):
    rng = np.random.default_rng(seed)
    truth, probability = rng.random(rows) < 0.3, rng.random(rows).round(1)
    truth[0] = True
    result = detection_scores(truth, probability, threshold)
    predicted = probability >= threshold
    assert result["average_precision"] == pytest.approx(average_precision_score(truth, probability))
    for name, scorer in (("precision", precision_score), ("recall", recall_score), ("f1", f1_score)):
        assert result[name] == pytest.approx(scorer(truth, predicted, zero_division=0))
    best, f1 = best_threshold(truth, probability)
    assert f1 == pytest.approx(max(f1_score(truth, probability >= one, zero_division=0) for one in probability))
    assert f1 == pytest.approx(detection_scores(truth, probability, best)["f1"])


def test_a_confusion_matrix_has_a_row_for_unseen_classes():
    truth, predicted = np.array([0, 0, 1, 2, 2]), np.array([0, 1, 1, 1, 0])
    table = confusion(truth, predicted, ["a", "b"])
    assert [list(row.values()) for row in table.values()] == confusion_matrix(truth, predicted)[:, :2].tolist()
    assert list(table) == ["a", "b", "unseen"]


def frauds(rows: int = 600) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    amount = rng.lognormal(3, 1, rows)
    fraud = rng.random(rows) < np.clip((amount / 200) ** 2, 0.005, 0.45)
    return pd.DataFrame({"amount": amount.round(2), "hour": rng.integers(24, size=rows), "fraud": fraud.astype(int)})


def test_fit_says_which_threshold_detects_more(tmp_path: Path, notes: list[str]):
    frauds().to_csv(tmp_path / "t.csv", index=False)
    fit_problem(read_problem(tmp_path / "t.csv", "fraud"), FitSettings(mode="in_context", weights=str(REAL)))
    (note,) = [line for line in notes if "is rare" in line]
    assert note.startswith("note: 1 is rare (")
    assert "predict --threshold 0." in note
    assert "chosen on these rows" in note


def test_a_proposal_from_few_rows_says_so():
    truth, probability = np.array([True] * 3 + [False] * 97), np.array([0.4, 0.3, 0.01, 0.35] + [0.02] * 96)
    line = _rare_class_line(Detected("fraud", truth, probability), 0.25)
    assert line.startswith(
        "'fraud' is rare (3 of 100 held-out rows). Predicted where it is the more probable class, 0 of 3 are found, "
        "with 0 false alarms (F1 0.00); with predict --threshold 0.25, 2 of 3 are found, with 1 false alarm (F1 0.67)."
    )
    cost = _cost_line(Detected("fraud", truth, probability), Cost(1, 20), 0.05, 0.25)
    assert cost == (
        "cost 1:20 (false alarm : miss) of 'fraud': mean cost per held-out row 0.21 with --threshold 0.05 (the least), "
        "0.21 with --threshold 0.25 (the best F1), 0.6 with --threshold 0.5 (the more probable class)"
    )


def test_the_scores_of_a_rare_class_are_beside_those_of_a_constant():
    scores = {"auc": 0.7113, "accuracy": 0.97, MAJORITY: 0.97, DETECTED_ROWS: 3}
    assert scores_line(scores) == (
        "AUC 0.7113 (rough: only 3 rows are of the rarer class), "
        "accuracy 0.9700 (always the most frequent training class: 0.9700)"
    )


def test_lift_ends_where_all_are_found():
    lift = {"top_10%": {"gain": 0.5}, "top_20%": {"gain": 1.0}, "top_30%": {"gain": 1.0}}
    assert list(until_all_detected(lift)) == ["top_10%", "top_20%"]


def test_a_threshold_decides_what_is_predicted(tmp_path: Path, capsys: pytest.CaptureFixture):
    frame = frauds(200)
    frame.to_csv(tmp_path / "t.csv", index=False)
    run, words = tmp_path / "run", ["--target", "fraud", "--mode", "in_context", "--out"]
    assert regard("fit", tmp_path / "t.csv", *words, run) == 0
    capsys.readouterr()
    rows = {}
    for threshold in (None, 0.02, 0.9):
        more = [] if threshold is None else ["--threshold", threshold]
        assert regard("predict", run, tmp_path / "t.csv", "--out", tmp_path / "p.csv", *more) == 0
        rows[threshold] = pd.read_csv(tmp_path / "p.csv")
        expected = rows[threshold]["p_1"] >= (threshold or 0.5)
        assert (rows[threshold]["fraud"] == expected.astype(int)).all()
        capsys.readouterr()
        assert regard("evaluate", run, tmp_path / "t.csv", "--json", *more) == 0
        scores = json.loads(capsys.readouterr().out)
        assert scores["detected_class"] == "1"
        assert scores["f1"] == pytest.approx(f1_score(frame["fraud"], rows[threshold]["fraud"], zero_division=0))
        assert scores["accuracy"] == pytest.approx((frame["fraud"] == rows[threshold]["fraud"]).mean())
        matrix = [list(row.values()) for row in scores["confusion"].values()]
        assert matrix == confusion_matrix(frame["fraud"], rows[threshold]["fraud"]).tolist()
    assert rows[0.02]["fraud"].sum() > rows[0.9]["fraud"].sum()


def test_options_of_predict_are_checked_before_the_model_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
):
    monkeypatch.setattr(regard_loading, "load_table", None)
    (tmp_path / "t.csv").write_text("amount,hour\n1,2\n")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.yaml").write_text("targets:\n- {name: price, labels: []}\n")
    for words, message in (
        (("--quantiles", 0.9, 1.2), "must lie between 0 and 1"),
        (("--threshold", 0.2), "is for a target with two classes"),
        (("--out", tmp_path / "p.doc"), "a table is written as"),
        (("--keep", "nope"), "the table has no column 'nope' (--keep); known: amount, hour"),
    ):
        assert regard("predict", tmp_path / "run", tmp_path / "t.csv", *words) == 2
        assert message in capsys.readouterr().err


def test_thresholds_that_mean_nothing_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture):
    frauds(60).to_csv(tmp_path / "t.csv", index=False)
    words = ["--mode", "in_context", "--out"]
    assert regard("fit", tmp_path / "t.csv", "--target", "amount", *words, tmp_path / "number") == 0
    assert regard("fit", tmp_path / "t.csv", "--target", "fraud", *words, tmp_path / "class") == 0
    capsys.readouterr()
    for run, value, message in (
        ("number", 0.3, "--threshold 0.3: is for a target with two classes"),
        ("class", 1.5, "--threshold 1.5: must lie between 0 and 1"),
    ):
        for verb in ("predict", "evaluate"):
            assert regard(verb, tmp_path / run, tmp_path / "t.csv", "--threshold", value) == 2
            assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("labels", "counts", "chosen"),
    [
        (["no", "yes"], (23, 27), "yes"),
        ([0, 1], (21, 29), "1"),
        ([False, True], (24, 26), "True"),
        ([0, 1], (15, 35), "0"),  # rarer, and not of similar size
        (["left", "right"], (23, 27), "left"),
    ],
)
def test_of_classes_of_similar_size_the_positive_one_is_detected(labels: list, counts: tuple[int, int], chosen: str):
    target = pd.Series(np.repeat(np.array(labels, dtype=object), counts)).infer_objects()
    frame = pd.DataFrame({"x": np.arange(50.0)})
    model = NPTClassifier(mode="in_context", members=1, random_state=0).fit(frame, target)
    assert str(model.classes_[rare_class(model)]) == chosen


def test_a_threshold_is_for_one_target(tmp_path: Path, capsys: pytest.CaptureFixture):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=40), "a": rng.choice(["n", "y"], 40), "b": rng.choice(["n", "y"], 40)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    words = ["--target", "a", "b", "--mode", "in_context", "--out", tmp_path / "run"]
    assert regard("fit", tmp_path / "t.csv", *words) == 0
    for verb in ("predict", "evaluate"):
        assert regard(verb, tmp_path / "run", tmp_path / "t.csv", "--threshold", "0.3") == 2
        assert "--threshold 0.3: is for a run with one target, not 2" in capsys.readouterr().err
