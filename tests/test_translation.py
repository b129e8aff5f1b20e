"""A translator from the user's own pairs, in every form that pairs come in."""

import json
from pathlib import Path

import pytest

from regard.run import load_run, read_metrics
from regard.tasks.scores import signatures, translation_scores
from tests.command import regard

PAIRS = [("ein Hund", "a dog"), ("zwei Hunde", "two dogs"), ("eine Katze", "a cat"), ("zwei Katzen", "two cats")] * 6
SMALL = ["--steps=3", "--training.batch=4", "--model.width=16", "--model.layers=1", "--data.tokenizer.vocab=280"]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pairs")
    (folder / "a.de").write_text("".join(f"{source}\n" for source, _ in PAIRS))
    (folder / "a.en").write_text("".join(f"{target}\n" for _, target in PAIRS))
    (folder / "a.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in PAIRS))
    return folder


def test_two_parallel_files_and_one_of_pairs_train_the_same_model(files: Path):
    two, one = [files / "a.de", files / "a.en"], [files / "a.tsv"]
    for out, data in (("two", two), ("one", one)):
        given = ["--train", *data, "--valid", *data]
        assert regard("train", "translate", "--out", files / out, *given, *SMALL) == 0
    assert (files / "two" / "model.safetensors").read_bytes() == (files / "one" / "model.safetensors").read_bytes()
    assert {"bleu", "bleu_lower", "chrf"} <= read_metrics(files / "one")[-1].keys()
    assert len(load_run(files / "one").translate(["ein Hund", ""], longest=5)) == 2


def test_evaluating_gives_one_object_with_signatures(files: Path, tmp_path: Path, capsys: pytest.CaptureFixture):
    data = ["--train", files / "a.tsv", "--valid", files / "a.tsv"]
    assert regard("train", "translate", "--out", tmp_path / "x", *data, *SMALL) == 0
    capsys.readouterr()
    assert regard("evaluate", tmp_path / "x", files / "a.de", files / "a.en", "--json", "--longest", "5") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["pairs"] == len(PAIRS)
    assert "case:lc" in told["signatures"]["bleu_lower"]


@pytest.mark.parametrize("more", [["--model=RNN"], ["--model=RNN", "--model.attention=Additive"],
                                  ["--model.position=Relative"], ["--model.attention=Window"]])  # fmt: skip
def test_every_architecture_can_be_chosen(more: list[str], files: Path, tmp_path: Path):
    data = ["--train", files / "a.tsv", "--valid", files / "a.tsv"]
    small = [word for word in SMALL if "--model" not in word] + ["--model.width=16"]
    assert regard("train", "translate", "--out", tmp_path / "x", *data, *small, *more) == 0


@pytest.mark.parametrize(
    ("sources", "targets", "told"),
    [
        ("a\nb\n", "c\n", "line 2: has no partner"),
        ("a\n", "c\nd\ne\n", "line 2: has no partner"),
        ("\n", "c\n", "no pairs"),
        ("", "", "no pairs"),
    ],
)
def test_files_that_do_not_match_are_named(
    sources: str, targets: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture
):
    for name, text in (("s", sources), ("t", targets)):
        (tmp_path / name).write_text(text)
    data = [tmp_path / "s", tmp_path / "t"]
    assert regard("train", "translate", "--out", tmp_path / "x", "--train", *data, "--valid", *data, *SMALL) == 1
    assert told in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_empty_pairs_are_left_out_and_counted(files: Path, tmp_path: Path, capsys: pytest.CaptureFixture):
    (tmp_path / "a.tsv").write_text((files / "a.tsv").read_text() + "\tnothing\nnichts\t\n")
    data = ["--train", tmp_path / "a.tsv", "--valid", files / "a.tsv"]
    assert regard("train", "translate", "--out", tmp_path / "x", *data, *SMALL) == 0
    assert "2 of 26 pairs have an empty side: left out" in capsys.readouterr().err


def test_scores_are_those_of_the_field():
    references = ["The cat sits on the mat.", "Two dogs play in the snow."]
    perfect = translation_scores(references, references)
    assert perfect["bleu"] == pytest.approx(100)
    assert perfect["exact"] == 1
    shouted = translation_scores([text.upper() for text in references], references)
    assert shouted["bleu_lower"] == pytest.approx(100)
    assert shouted["bleu"] < 50
    assert "tok:13a" in signatures()["bleu"]
    assert "case:lc" in signatures()["bleu_lower"]
