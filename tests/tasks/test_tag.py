"""Tagging: spans against brute force, a run from training to answers, and input of every kind."""

import gzip
import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import regard as library
from regard.core.errors import ConfigError
from regard.tasks.recording import ViewInput
from regard.tasks.tag.scores import Span, is_bio, span_scores, spans, tag_scores
from regard.tasks.tag.words import words_of
from regard.view.open_run import OpenRun
from tests.command import regard

SMALL = [
    "--model.width=16",
    "--model.heads=2",
    "--model.layers=1",
    "--training.batch_size=8",
    "--data.tokenizer=Characters",
]
BIO = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]


def brute_force(labels: list[str]) -> set[Span]:
    """Every interval that starts a span, has one kind throughout, and cannot be longer."""
    kinds = [label.partition("-")[2] for label in labels]
    marks = [label.partition("-")[0] for label in labels]

    def starts(at: int) -> bool:
        return marks[at] != "O" and (marks[at] == "B" or at == 0 or marks[at - 1] == "O" or kinds[at - 1] != kinds[at])

    spans = set()
    for first in filter(starts, range(len(labels))):
        end = first + 1
        while end < len(labels) and not starts(end) and marks[end] != "O":
            end += 1
        spans.add(Span(first, end, kinds[first]))
    return spans


@given(st.lists(st.sampled_from(BIO), max_size=12))
def test_spans_are_those_of_brute_force(labels: list[str]) -> None:
    result = spans(labels)
    assert set(result) == brute_force(labels)
    assert len(result) == len(set(result))


@given(st.lists(st.lists(st.sampled_from(BIO), min_size=1, max_size=8), min_size=1, max_size=5))
def test_a_perfect_prediction_has_every_score_at_its_best(sentences: list[list[str]]) -> None:
    scores = tag_scores(sentences, sentences)
    assert scores["accuracy"] == 1
    if "span_f1" in scores:
        assert scores["span_f1"] == (1 if any(map(spans, sentences)) else 0)


def test_span_scores_by_hand() -> None:
    true = [["B-PER", "I-PER", "O", "B-LOC"]]
    predicted = [["B-PER", "I-PER", "O", "B-PER"]]
    assert span_scores(predicted, true) == {"span_precision": 0.5, "span_recall": 0.5, "span_f1": 0.5}
    assert spans(["S-PER", "B-LOC", "E-LOC", "I-LOC"]) == [Span(0, 1, "PER"), Span(1, 3, "LOC"), Span(3, 4, "LOC")]
    assert not is_bio([["NOUN", "O"]])


def test_words_keep_what_belongs_together() -> None:
    assert words_of("It's a well-known 3.14, isn't it?") == ["It's", "a", "well-known", "3.14", ",", "isn't", "it", "?"]
    assert words_of(["already", "split !"]) == ["already", "split !"]
    assert words_of("  ") == []


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Entities in two columns: a capital letter starts a name, and a second one continues it."""
    folder = tmp_path_factory.mktemp("tagged")
    sentences = []
    for number in range(40):
        who, where = ("Ada", "Bob", "Eve")[number % 3], ("Rome", "Oslo")[number % 2]
        sentences.append([(who, "B-PER"), ("Li", "I-PER"), ("saw", "O"), (where, "B-LOC"), (".", "O")])
        sentences.append([("rain", "O"), ("in", "O"), (where, "B-LOC"), ("stops", "O")])
    text = "\n".join("".join(f"{word}\t{label}\n" for word, label in sentence) for sentence in sentences)
    (folder / "train.tsv").write_text(text)
    with gzip.open(folder / "test.tsv.gz", "wt") as out:
        out.write(text)
    return folder


@pytest.fixture(scope="module")
def run(files: Path) -> Path:
    out = files / "runs" / "names"
    words = ["--train", files / "train.tsv", "--out", out, "--steps=150"]
    assert regard("train", "tag", *words, *SMALL) == 0
    return out


def test_a_tagger_learns_names_and_is_scored_by_spans(
    run: Path, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert regard("evaluate", run, files / "test.tsv.gz", "--json") == 0
    scores = json.loads(capsys.readouterr().out)
    assert scores["words"] == 360
    assert scores["sentences"] == 80
    assert scores["accuracy"] > 0.9
    assert scores["span_f1"] > 0.8


def test_the_verb_prints_words_and_labels(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"Ada Li saw Rome.\n\nrain\n")))
    assert regard("tag", run) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("\t")[0] for line in lines] == ["Ada", "Li", "saw", "Rome", ".", "", "", "rain", ""]
    assert all(line.count("\t") == 1 for line in lines if line)


def test_python_takes_texts_and_lists_of_words_of_any_length(run: Path) -> None:
    tagger = library.load(run)
    [short, split] = tagger(["Ada saw Oslo.", ["Ada", "saw", "Oslo", "."]])
    assert short == split
    [long] = tagger.tag([["rain", "in", "Rome"] * 200])
    assert len(long) == 600, "what is longer than the model reads is read in parts"
    [odd] = tagger.tag([["x" * 1000, "\u0000", "Ada"]])
    assert [word for word, _ in odd] == ["x" * 1000, "\u0000", "Ada"]
    assert tagger.tag([]) == []
    with pytest.raises(ConfigError, match="a list of sentences is needed"):
        tagger.tag("Ada")


def test_the_viewer_shows_its_answer_and_its_attention(run: Path) -> None:
    opened = OpenRun(run)
    assert opened.describe()["kind"] == "text"
    recording = opened.record(ViewInput("Ada saw Rome"))
    assert recording.answer.startswith("Ada/")
    assert len(recording.maps) == 1
    assert recording.maps[0].pattern.shape[0] == 2


CONLLU = "1\tDogs\tdog\tNOUN\tNNS\tNumber=Plur\t2\tnsubj\t_\t_\n2\tbark\tbark\tVERB\tVBP\t_\t0\troot\t_\t_\n\n"


@pytest.mark.parametrize(
    ("column", "labels"), [("upos", ("NOUN", "VERB")), ("xpos", ("NNS", "VBP")), ("deprel", ("nsubj", "root"))]
)
def test_any_column_of_conllu_is_a_label(column: str, labels: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "dogs.conllu").write_text(CONLLU * 12)
    words = ["--train", tmp_path / "dogs.conllu", "--column", column, "--out", tmp_path / "run", "--steps=2", *SMALL]
    assert regard("train", "tag", *words) == 0
    assert library.load(tmp_path / "run").task.labels == labels


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("word\n", "line 1: a word and its label are needed"),
        ("a\tX\nb\tY\tZ\n", "line 2: has 3 columns"),
        ("", "no tagged sentences"),
        ("a\tX\nb\tX\n\nc\tX\n", "at least two labels"),
    ],
)
def test_bad_files_are_refused_in_one_line(
    text: str, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.tsv").write_text(text)
    out = tmp_path / "run"
    assert regard("train", "tag", "--train", tmp_path / "bad.tsv", "--out", out, "--steps=2", *SMALL) in (1, 2)
    message = capsys.readouterr().err
    assert line in message
    assert message.count("\n") == 1
    assert not out.exists()


def test_a_misspelt_column_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "dogs.conllu").write_text(CONLLU * 3)
    assert (
        regard("train", "tag", "--train", tmp_path / "dogs.conllu", "--column", "upso", "--out", tmp_path / "run") == 2
    )
    assert "did you mean 'upos'?" in capsys.readouterr().err
