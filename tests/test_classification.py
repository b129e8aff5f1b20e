"""A classifier from the user's own labelled texts."""

import json
from pathlib import Path

import pytest

from regard.core.errors import UserError
from regard.run import load_run
from regard.tasks.classify import label_scores
from tests.command import regard

ROWS = [("good", "a fine film"), ("bad", "a dull film"), ("good", "a fine day"), ("bad", "a dull day")] * 8
SMALL = ["--training.batch=8", "--model.width=16", "--model.layers=1", "--data.tokenizer.vocab=280"]

QUICK = ["--epochs=30", "--training.schedule.warmup=5", "--training.optimiser.rate=0.01", "--training.average=0"]
QUICK += ["--model.dropout=0"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("labels")
    (folder / "a.tsv").write_text("".join(f"{label}\t{text}\n" for label, text in ROWS))
    data = ["--train", folder / "a.tsv", "--valid", folder / "a.tsv"]
    assert regard("train", "classify", "--out", folder / "run", *data, *SMALL, *QUICK) == 0
    return folder / "run"


def test_it_learns_evaluates_and_classifies(run: Path, capsys: pytest.CaptureFixture):
    assert regard("evaluate", run, run.parent / "a.tsv", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"accuracy": 1.0, "macro_f1": 1.0, "texts": len(ROWS)}
    loaded = load_run(run)
    assert loaded.classify(["a dull day", "a fine film", ""])[:2] == ["bad", "good"]
    labels, chances = loaded.label_chances(["a fine film", "a dull day and a dull film"])
    assert labels == ("bad", "good")
    assert chances.sum(-1).tolist() == pytest.approx([1, 1])
    assert chances.argmax(-1).tolist() == [1, 0], "in the order asked, whatever the lengths"


def test_a_label_unseen_in_training_is_named(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture):
    (tmp_path / "b.tsv").write_text("good\tfine\ngoood\tfine\n")
    data = ["--train", run.parent / "a.tsv", "--valid", tmp_path / "b.tsv"]
    assert regard("train", "classify", "--out", tmp_path / "x", *data, *SMALL, "--steps", "1") == 1
    error = capsys.readouterr().err
    assert "line 2: the label 'goood' does not occur in the training files; did you mean 'good'?" in error


def test_other_runs_name_no_labels(tmp_path: Path):
    from tests.train.tiny import train_tiny

    train_tiny(tmp_path / "run")
    with pytest.raises(UserError, match="was not trained to name labels"):
        load_run(tmp_path / "run").classify(["x"])


def test_scores_agree_with_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    answers, references = list("aabbbcca"), list("abbbaccc")
    scores = label_scores(answers, references)
    assert scores["accuracy"] == pytest.approx(metrics.accuracy_score(references, answers))
    assert scores["macro_f1"] == pytest.approx(metrics.f1_score(references, answers, average="macro"))
