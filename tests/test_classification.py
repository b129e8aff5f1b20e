"""A classifier from the user's own labelled texts."""

import io
import json
import random
import re
from pathlib import Path

import pytest

from regard.core.errors import UserError
from regard.data.text.labelled import LabelFiles
from regard.store import read_metrics
from regard.tasks import load_run
from regard.tasks.labels import label_scores
from tests.command import regard
from tests.conllu import chain, conllu
from tests.helpers import close
from tests.train.tiny import save_untrained

ROWS = [("good", "a fine film"), ("bad", "a dull film"), ("good", "a fine day"), ("bad", "a dull day")] * 8
SMALL = ["--training.batch_size=8", "--model.width=16", "--model.layers=1", "--data.tokenizer.vocab=280"]

QUICK = ["--epochs=30", "--training.schedule.warmup=5", "--training.optimiser.lr=0.01", "--training.ema=0"]
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
    labels, probabilities = loaded.label_probabilities(["a fine film", "a dull day and a dull film"])
    assert labels == ("bad", "good")
    assert probabilities.sum(-1).tolist() == pytest.approx([1, 1])
    assert probabilities.argmax(-1).tolist() == [1, 0], "in the order given, whatever the lengths"


def test_columns_are_called_as_the_user_says_when_measuring_too(tmp_path: Path, capsys: pytest.CaptureFixture):
    (tmp_path / "mail.csv").write_text("no;kind;mail\n" + "".join(f"{n};{a};{b}\n" for n, (a, b) in enumerate(ROWS)))
    data = ["--train", tmp_path / "mail.csv", "--valid", tmp_path / "mail.csv"]
    assert regard("train", "classify", "--out", tmp_path / "run", *data, *SMALL, "--steps=1") == 1
    output = "has no column 'label'; known: kind, mail, no; set the names of the label and text columns with --columns"
    assert output in capsys.readouterr().err
    words = ["--out", tmp_path / "run", *data, *SMALL, "--steps=1", "--columns"]
    assert regard("train", "classify", *words, "kind") == 2
    assert "columns: must be the names of the label and text columns" in capsys.readouterr().err
    assert regard("train", "classify", *words, "kind", "mail") == 0
    assert regard("evaluate", tmp_path / "run", tmp_path / "mail.csv", "--json") == 0
    assert json.loads(capsys.readouterr().out)["texts"] == len(ROWS)
    (tmp_path / "usual.csv").write_text("label,text\n" + "".join(f"{a},{b}\n" for a, b in ROWS))
    assert regard("evaluate", tmp_path / "run", tmp_path / "usual.csv") == 1
    assert "has no column 'kind'; known: label, text; set the names" in capsys.readouterr().err
    assert regard("evaluate", tmp_path / "run", tmp_path / "usual.csv", "--columns", "label", "text") == 0
    (tmp_path / "bare.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in ROWS))
    assert regard("evaluate", tmp_path / "run", tmp_path / "bare.tsv") == 1
    assert "its first line is not a header with kind and mail; set the names" in capsys.readouterr().err


def test_another_librarys_classifier_is_measured(tmp_path: Path, capsys: pytest.CaptureFixture):
    """Its folder says nothing of files that it was trained on."""
    (tmp_path / "a.tsv").write_text("".join(f"{label}\t{text}\n" for label, text in ROWS))
    plain = ["--model=BERT", "--model.head=ClassifierHead", "--model.heads=2", "--task.ngrams=null", "--steps=1"]
    plain += SMALL
    data = ["--train", tmp_path / "a.tsv", "--valid", tmp_path / "a.tsv"]
    assert regard("train", "classify", "--out", tmp_path / "run", *data, *plain) == 0
    assert regard("export", tmp_path / "run", "--to", "huggingface", "--out", tmp_path / "hf") == 0
    capsys.readouterr()
    scores = []
    for folder in ("run", "hf"):
        assert regard("evaluate", tmp_path / folder, tmp_path / "a.tsv", "--json") == 0
        scores.append(json.loads(capsys.readouterr().out))
    assert scores[0] == scores[1]


def test_a_recurrent_network_learns_and_classifies(run: Path, tmp_path: Path):
    data = ["--train", run.parent / "a.tsv", "--valid", run.parent / "a.tsv"]
    assert regard("train", "classify", "--out", tmp_path / "rnn", *data, "--model=RNNClassifier", *SMALL, *QUICK) == 0
    assert load_run(tmp_path / "rnn").classify(["a dull day", "a fine film", ""])[:2] == ["bad", "good"]


def test_a_label_unseen_in_training_is_named(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture):
    (tmp_path / "b.tsv").write_text("good\tfine\ngoood\tfine\n")
    data = ["--train", run.parent / "a.tsv", "--valid", tmp_path / "b.tsv"]
    assert regard("train", "classify", "--out", tmp_path / "x", *data, *SMALL, "--steps", "1") == 1
    wrong = "line 2: the label 'goood' does not occur in the training files; did you mean 'good'?"
    assert wrong in capsys.readouterr().err
    assert regard("evaluate", run, tmp_path / "b.tsv") == 1
    assert wrong in capsys.readouterr().err


def test_rows_without_a_label_and_a_single_label_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture):
    for rows, message in (
        ("good\tfine\n\tdull\n", "line 2: the label is empty"),
        ("good\tfine\n" * 20, "every row has the label 'good'; at least two labels are needed"),
    ):
        (tmp_path / "x.tsv").write_text(rows)
        assert regard("train", "classify", "--out", tmp_path / "run", "--train", tmp_path / "x.tsv", *SMALL) == 1
        assert message in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_texts_where_labels_should_be_are_noticed(tmp_path: Path, capsys: pytest.CaptureFixture):
    (tmp_path / "x.tsv").write_text("".join(f"a text of its own, {n}\tgood\n" for n in range(60)) * 2)
    words = ["--out", tmp_path / "run", "--train", tmp_path / "x.tsv", *SMALL, "--steps=1"]
    assert regard("train", "classify", *words) == 0
    assert "labels for 120 texts" not in capsys.readouterr().err, "each label has two texts"
    (tmp_path / "x.tsv").write_text("".join(f"a text of its own, {n}\tgood\n" for n in [*range(60), *range(10)]))
    assert regard("train", "classify", *words, "--overwrite") == 0
    assert "x.tsv: 60 labels for" in capsys.readouterr().err


def test_other_runs_name_no_labels(tmp_path: Path):
    save_untrained(tmp_path / "run")
    with pytest.raises(UserError, match="has no 'classify': its task is Translate"):
        load_run(tmp_path / "run").classify(["x"])


def test_scores_agree_with_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    answers, references = list("aabbbcca"), list("abbbaccc")
    scores = label_scores(answers, references)
    assert scores["accuracy"] == pytest.approx(metrics.accuracy_score(references, answers))
    assert scores["macro_f1"] == pytest.approx(metrics.f1_score(references, answers, average="macro"))


def hang(rng: random.Random) -> tuple[list[str], list[int], str]:
    """Three words and a marked one in any order, as a random tree in which the marked word is a leaf; and its head."""
    order = rng.sample(range(4), 4)
    heads = [-1] * 4
    for place in range(1, 4):
        heads[order[place]] = order[rng.randrange(place)]
    words = [""] * 4
    for place, word in zip(order, [*rng.sample("abc", 3), "x"], strict=True):
        words[place] = word  # the marked word comes last into the tree, so nothing hangs from it
    return words, heads, words[heads[words.index("x")]]


def test_only_the_tree_shows_the_head_of_a_word(tmp_path: Path):
    """All texts have the same words, so neither they nor their order say which word is the head."""
    rng = random.Random(1)
    for name, count in (("train", 1500), ("valid", 200)):
        rows = [hang(rng) for _ in range(count)]
        (tmp_path / f"{name}.tsv").write_text("".join(f"{label}\t{' '.join(words)}\n" for words, _, label in rows))
        (tmp_path / f"{name}.conllu").write_text("".join(conllu(words, heads) for words, heads, _ in rows))
    data = ["--train", tmp_path / "train.tsv", "--valid", tmp_path / "valid.tsv"]
    data += ["--trees", tmp_path / "train.conllu", "--valid-trees", tmp_path / "valid.conllu"]
    small = ["--data.tokenizer=WordPiece", "--data.tokenizer.vocab=30", "--model.width=32", "--model.feed.hidden=64"]
    small += ["--model.dropout=0", "--training.ema=0", "--training.optimiser.lr=0.005", "--task.label_smoothing=0"]
    small += ["--task.token_dropout=0"]
    scores = {}
    for position in ("Tree", "Sinusoid"):
        out, more = tmp_path / position, ["--steps=200", "--training.schedule.warmup=20", "--model.heads=2"]
        assert regard("train", "classify", "--out", out, *data, *small, *more, f"--model.position={position}") == 0
        scores[position] = read_metrics(out)[-1]["accuracy"]
    assert scores["Tree"] > 0.9
    assert scores["Sinusoid"] < 0.5, "one of three is right by chance"


def test_trees_at_use_are_those_of_the_lines(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch):
    lines = ["a fine film", "a dull day"]
    (tmp_path / "T").write_text("".join(map(chain, lines)))
    (tmp_path / "b.tsv").write_text("".join(f"good\t{line}\n" for line in lines))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("\n".join(lines).encode())))
    assert regard("classify", run, "--trees", tmp_path / "T") == 0
    assert capsys.readouterr().out.split() == ["good", "bad"]
    assert regard("evaluate", run, tmp_path / "b.tsv", "--trees", tmp_path / "T", "--json") == 0
    assert json.loads(capsys.readouterr().out)["accuracy"] == 0.5
    (tmp_path / "b.tsv").write_text("good\ta fine film\ngood\ta dull date\n")
    assert regard("evaluate", run, tmp_path / "b.tsv", "--trees", tmp_path / "T") == 1
    error = capsys.readouterr().err
    output = f"does not match its tree at {tmp_path}/T, line 5: the text has 'date' where the tree has 'day'"
    assert f"b.tsv, line 2: {output}" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--model.position=Tree"], "Tree needs the tree of each text"),
        (["--valid-trees", "T"], "trees: trees are needed for both"),
    ],
)
def test_missing_trees_are_refused_before_training(
    more: list[str], message: str, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture
):
    data = ["--train", run.parent / "a.tsv", "--valid", run.parent / "a.tsv"]
    assert regard("train", "classify", "--out", tmp_path / "x", *data, *SMALL, *more) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_without_validation_files_a_tenth_is_held_out_and_no_label_is_lost(tmp_path):
    rows = ["rare\tonce only"] + [f"{'ab'[i % 2]}\ttext {i}" for i in range(99)]
    (tmp_path / "all.tsv").write_text("\n".join(rows) + "\n")
    data = LabelFiles(train=(str(tmp_path / "all.tsv"),))
    train, valid = data.rows()
    assert len(valid) == 10
    assert sorted(row.line for row in (*train, *valid)) == list(range(1, 101))
    assert {row.fields[0] for row in train} == {"rare", "a", "b"}
    assert data.rows() == (train, valid)


def test_nothing_can_be_held_out_of_labels_with_one_row_each(tmp_path):
    (tmp_path / "two.tsv").write_text("a\tone\nb\ttwo\n")
    with pytest.raises(UserError, match="--valid"):
        LabelFiles(train=(str(tmp_path / "two.tsv"),)).rows()


def test_a_classifier_goes_to_hugging_face_with_its_labels_and_comes_back(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture
):
    data = ["--train", run.parent / "a.tsv", "--valid", run.parent / "a.tsv", *SMALL, *QUICK]
    assert regard("export", run, "--to", "huggingface", "--out", tmp_path / "hf") == 2
    output = " ".join(capsys.readouterr().err.split())
    [advice] = re.findall(r"`regard train classify (.*)` makes one that can be written", output)
    assert regard("train", "classify", "--out", tmp_path / "run", *advice.split(), *data) == 0
    assert regard("export", tmp_path / "run", "--to", "huggingface", "--out", tmp_path / "hf") == 0
    texts = ["a dull day", "a fine film"]
    here, there = load_run(tmp_path / "run"), load_run(tmp_path / "hf")
    assert there.label_probabilities(texts)[0] == ("bad", "good")
    close(there.label_probabilities(texts)[1], here.label_probabilities(texts)[1])
