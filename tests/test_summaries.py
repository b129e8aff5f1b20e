"""A summariser from the user's own documents, and the scores that the field cites."""

import json
import random
import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from regard.core.errors import UserError
from regard.data.text.pair_files import PairFiles, all_targets, read_pairs, read_references
from regard.store import read_metrics
from regard.tasks import load_run
from regard.tasks.seq2seq.scores import ROUGE, rouge_protocol, summary_scores
from regard.tasks.summarise.baseline import first_words, mean_length
from tests.command import regard
from tests.train.tiny import save_untrained

WORDS = ["red", "blue", "green", "old", "new", "big", "small", "fast", "dog", "cat", "car", "tree"]
SMALL = ["--training.batch_size=32", "--model.width=32", "--model.heads=2", "--data.tokenizer.vocab=300"]
QUICK = ["--steps=150", "--model.dropout=0", "--training.ema=0", "--training.eval-every=1000"]
QUICK += ["--training.optimiser.lr=0.01", "--training.schedule.warmup=10"]
ALONE = "--task.extract=null"  # the network without the extractor
DECODER = ["--model=DecoderOnly", "--model.layers=2"]
PAPER = [*DECODER, "--model.attention=Window", "--model.attention.reach=4", "--model.alternate=Compressed"]


def documents(count: int, seed: int) -> list[tuple[str, str]]:
    """What matters, a thing and how it is, stands in the second and third place: the first words are half right."""
    draw = random.Random(seed)
    rows = []
    for _ in range(count):
        matters = f"{draw.choice(WORDS[:8])} {draw.choice(WORDS[8:])}"
        rest = " ".join(draw.choices(WORDS, k=draw.randint(1, 6)))
        rows.append((f"{draw.choice(['here', 'now'])} {matters} {rest}", matters))
    return rows


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("documents")
    for name, count in (("train", 400), ("dev", 40)):
        rows = documents(count, seed=count)
        (folder / f"{name}.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in rows))
    return folder


def data(folder: Path) -> list[object]:
    return ["--train", folder / "train.tsv", "--valid", folder / "dev.tsv"]


@pytest.mark.parametrize(
    "model", [["--model.layers=1"], DECODER, PAPER], ids=["transformer", "decoder only", "window and compressed"]
)
def test_what_matters_is_learned_and_beats_the_first_words(
    model: list[str], files: Path, tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    out = tmp_path / "run"
    assert regard("train", "summarise", "--out", out, *data(files), *model, *SMALL, *QUICK, ALONE) == 0
    assert {"rouge1", "rouge2", "rougeL", "first_words_rougeL"} <= read_metrics(out)[-1].keys()
    capsys.readouterr()
    assert regard("evaluate", out, files / "dev.tsv", "--json") == 0
    output = json.loads(capsys.readouterr().out)
    assert output["rougeL"] > 90
    assert 40 < output["first_words_rougeL"] < 70
    assert (output["documents"], output["truncated"]) == (40, 0)
    assert "the first 2 words" in output["protocol"]

    (tmp_path / "in.txt").write_text("now old dog cat red\n\nhere small tree car\n")
    with (tmp_path / "in.txt").open() as lines:
        monkeypatch.setattr("sys.stdin", lines)
        assert regard("summarise", out) == 0
    answers = capsys.readouterr().out.splitlines()
    assert len(answers) == 3  # an empty document has a summary of its own line
    assert answers == load_run(out).summarise(["now old dog cat red", "", "here small tree car"])


def test_an_rnn_summarises_too(files: Path, tmp_path: Path):
    small = [word for word in SMALL if "heads" not in word]
    assert regard("train", "summarise", "--out", tmp_path / "x", *data(files), "--model=RNN", "--steps=2", *small) == 0
    assert len(load_run(tmp_path / "x").summarise(["red dog"], max_tokens=3)) == 1


def test_documents_are_truncated_alike_in_training_and_in_use(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    out = tmp_path / "run"
    assert (
        regard("train", "summarise", "--out", out, *data(files), *SMALL, "--steps=2", "--task.max_length=5", ALONE) == 0
    )
    error = capsys.readouterr().err
    assert re.search(r"train: \d+ of \d+ sources have more than 5 tokens: truncated", error)
    assert yaml.safe_load((out / "config.yaml").read_text())["task"]["max_length"] == 5
    run = load_run(out)
    long = "red blue green old new big small fast dog cat car tree"
    assert run.tokenizer is not None
    tokens, read = run.tokenizer.encode([long])[0], []
    begin = run.model.init_state
    monkeypatch.setattr(
        run.model, "init_state", lambda source, *rest: read.append(source.tolist()) or begin(source, *rest)
    )
    run.summarise([long], max_tokens=3)
    assert len(tokens) > 5
    assert read == [[[*tokens[:5], run.tokenizer.end]]]
    assert run.count_truncated([long, "red", ""]) == 1
    (tmp_path / "in.txt").write_text(f"{long}\n")
    with (tmp_path / "in.txt").open() as lines:
        monkeypatch.setattr("sys.stdin", lines)
        assert regard("summarise", out) == 0
    assert "1 of 1 documents are longer than what is read of them" in capsys.readouterr().err


def test_every_reference_is_learned_from_and_the_best_one_counts(tmp_path: Path):
    (tmp_path / "a.tsv").write_text("one two\tone\ttwo\t\nthree four\tthree\n \tnothing\nempty\t\t\n")
    (tmp_path / "a.jsonl").write_text(
        '{"source": "one two", "target": ["one", "two"]}\n{"source": "three four", "target": "three"}\n'
        '{"source": "empty", "target": []}\n'
    )
    for name in ("a.tsv", "a.jsonl"):
        file = (str(tmp_path / name),)
        rows = PairFiles(train=file, valid=file).references()["train"]
        assert rows == [("one two", ("one", "two")), ("three four", ("three",))]
        assert all_targets(rows) == [("one two", "one"), ("one two", "two"), ("three four", "three")]
        assert PairFiles(train=file, valid=file).pairs()["train"] == [("one two", "one"), ("three four", "three")]
        assert [target for _, target in read_pairs(file)][:2] == ["one", "three"]
    assert summary_scores(["two", "three"], [["one", "two"], ["three"]])["rouge1"] == 100


def test_lists_in_parquet_are_several_references(tmp_path: Path):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table({"source": ["a b", "c"], "target": [["a", "b"], []]})
    parquet.write_table(table, tmp_path / "a.parquet")
    assert list(read_references((str(tmp_path / "a.parquet"),))) == [("a b", ("a", "b")), ("c", ("",))]


sentences = st.lists(st.sampled_from([*WORDS, "dogs", "Running", "runs", "über", "4,5", "—"]), max_size=8).map(" ".join)


@given(st.lists(st.tuples(sentences, st.lists(sentences, min_size=1, max_size=3)), min_size=1, max_size=4))
def test_scores_are_those_of_rouge_score(rows):
    scores = summary_scores([answer for answer, _ in rows], [references for _, references in rows])
    scorer = RougeScorer(ROUGE, use_stemmer=True)
    for name in ROUGE:
        best = [max(scorer.score(right, answer)[name].fmeasure for right in several) for answer, several in rows]
        assert scores[name] == pytest.approx(100 * sum(best) / len(best))


@pytest.mark.parametrize(
    ("answer", "references", "expected"),
    [
        # 3 of 4 words and of 5; 2 of 3 pairs and of 4; the subsequence "the cat … mat".
        ("the cat the mat", ["the cat on a mat"], (2 * 3 / 9, 2 * 1 / 7, 2 * 3 / 9)),
        # The order matters to pairs and to the subsequence only.
        ("c b a", ["a b c"], (1, 0, 1 / 3)),
        # Stems and capitals do not matter.
        ("Dogs running", ["dog runs"], (1, 1, 1)),
        # Each score takes the reference that suits it.
        ("a b c", ["c b a", "a b x y"], (1, 2 * 1 / 5, 2 * 2 / 7)),
        ("", ["a b"], (0, 0, 0)),
        ("a", ["a"], (1, 0, 1)),
    ],
)
def test_scores_by_hand(answer: str, references: list[str], expected: tuple[float, ...]):
    scores = summary_scores([answer], [references])
    assert [scores[name] for name in ("rouge1", "rouge2", "rougeL")] == pytest.approx([100 * x for x in expected])


def test_the_mean_is_over_documents():
    assert summary_scores(["a b", "x"], [["a b"], ["y"]])["rouge1"] == pytest.approx(50)
    assert "rouge-score 0." in rouge_protocol()


def test_the_first_words_are_as_many_as_a_reference_has():
    references = [["one two three", "one"], ["one two three four"]]
    assert mean_length(references) == 3
    assert first_words(["a  b c d e", "f", ""], mean_length(references)) == ["a b c", "f", ""]
    assert mean_length([[""]]) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("only a document\n", "line 1: has 1 field between tabs, and should have 2: source, target"),
        ("a b\ta\nc\n", "line 2: has 1 field between"),
        ("", "no pairs"),
        ("\tsummary of nothing\n", "no pairs"),
        ("document\t\t\n", "no pairs"),
    ],
)
def test_files_that_hold_no_documents_are_named(text: str, message: str, files: Path, tmp_path: Path, capsys):
    (tmp_path / "bad.tsv").write_text(text)
    given = ["--train", tmp_path / "bad.tsv", "--valid", files / "dev.tsv"]
    assert regard("train", "summarise", "--out", tmp_path / "x", *given, *SMALL, "--steps=1") == 1
    error = capsys.readouterr().err
    assert message in error
    assert "bad.tsv" in error
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--model=GPT"],
            "model: GPT does not read one text and write another; choose one of RNN, Transformer, DecoderOnly",
        ),
        (["--task.max_length=0"], "max_length: must be at least 1, not 0"),
        (["--model=DecoderOnly", "--model.alternate=Linformer"], "alternate: Linformer cannot hide the future"),
        (["--model.alternate=Windows"], "model.alternate: unknown kind 'Windows'; did you mean 'Window'?"),
    ],
)
def test_what_cannot_summarise_is_refused_in_one_line(words, message, files: Path, tmp_path: Path, capsys):
    small = ["--data.tokenizer.vocab=300", "--steps=1"]
    assert regard("train", "summarise", "--out", tmp_path / "x", *data(files), *small, *words) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "x").exists()


def test_other_runs_do_not_summarise(tmp_path: Path):
    save_untrained(tmp_path / "run")
    with pytest.raises(UserError, match="has no 'summarise': its task is Translate"):
        load_run(tmp_path / "run").summarise(["x"])


def test_a_decoder_by_itself_translates(files: Path, tmp_path: Path):
    words = ["--model=DecoderOnly", "--model.layers=1", "--steps=2"]
    assert regard("train", "translate", "--out", tmp_path / "x", *data(files), *SMALL, *words) == 0
    assert len(load_run(tmp_path / "x").translate(["red dog", ""], max_tokens=3)) == 2
