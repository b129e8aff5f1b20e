"""A translator from the user's own pairs, in every form that pairs come in."""

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor

from regard.core.errors import UserError
from regard.data.text.pair_files import PairFiles
from regard.data.text.pairs import source_trees
from regard.data.trees.conllu import read_trees
from regard.data.trees.tree_positions import pad_trees
from regard.parts import Positions
from regard.store import read_metrics
from regard.tasks import Run, load_run
from regard.tasks.seq2seq.scores import signatures, translation_scores
from tests.command import regard
from tests.conllu import chain, conllu

PAIRS = [("ein Hund", "a dog"), ("zwei Hunde", "two dogs"), ("eine Katze", "a cat"), ("zwei Katzen", "two cats")] * 6
SMALL = ["--steps=3", "--training.batch_size=4", "--model.width=16", "--model.layers=1", "--data.tokenizer.vocab=280"]


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
    assert len(load_run(files / "one").translate(["ein Hund", ""], max_tokens=5)) == 2


def test_a_blank_line_stays_blank(files: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch):
    given = ["--train", files / "a.tsv", "--valid", files / "a.tsv"]
    assert regard("train", "translate", "--out", files / "blank", *given, *SMALL) == 0
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"ein Hund\n\n  \nein Hund\n")))
    capsys.readouterr()
    assert regard("translate", files / "blank", "--scores", "--align", "--max-tokens", 5) == 0
    first, blank, spaces, last = capsys.readouterr().out.splitlines()
    assert first == last
    assert (blank, spaces) == ("", "")


def test_columns_are_called_as_the_user_says(files: Path, tmp_path: Path, capsys: pytest.CaptureFixture):
    (tmp_path / "a.csv").write_text("no,en,de\n" + "".join(f"{n},{en},{de}\n" for n, (de, en) in enumerate(PAIRS)))
    for out, data in (("csv", [tmp_path / "a.csv"]), ("tsv", [files / "a.tsv"])):
        more = ["--columns", "de", "en"] if out == "csv" else []
        assert (
            regard("train", "translate", "--out", tmp_path / out, "--train", *data, "--valid", *data, *SMALL, *more)
            == 0
        )
    csv, tsv = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("csv", "tsv"))
    assert csv == tsv
    capsys.readouterr()
    scores = []
    for data in ([tmp_path / "a.csv"], [files / "a.de", files / "a.en"]):
        assert regard("evaluate", tmp_path / "csv", *data, "--json", "--max-tokens", "5") == 0
        scores.append(capsys.readouterr().out)
    assert scores[0] == scores[1]
    two = ["--train", files / "a.de", files / "a.en", "--valid", files / "a.de", files / "a.en"]
    assert regard("train", "translate", "--out", tmp_path / "two", *two, *SMALL, "--columns", "de", "en") == 2
    assert "columns: parallel files have no columns" in capsys.readouterr().err


def test_evaluating_gives_one_object_with_signatures(files: Path, tmp_path: Path, capsys: pytest.CaptureFixture):
    data = ["--train", files / "a.tsv", "--valid", files / "a.tsv"]
    assert regard("train", "translate", "--out", tmp_path / "x", *data, *SMALL) == 0
    capsys.readouterr()
    assert regard("evaluate", tmp_path / "x", files / "a.de", files / "a.en", "--json", "--max-tokens", "5") == 0
    output = json.loads(capsys.readouterr().out)
    assert output["pairs"] == len(PAIRS)
    assert "case:lc" in output["signatures"]["bleu_lower"]
    assert regard("evaluate", tmp_path / "x", files / "a.tsv", "--max-tokens", "5") == 0
    assert "signatures.bleu_lower: nrefs:1|case:lc|" in capsys.readouterr().out
    assert regard("evaluate", tmp_path / "x", *[files / "a.tsv"] * 3) == 2
    assert "two parallel files or one file of pairs are needed" in capsys.readouterr().err


@pytest.mark.parametrize("more", [["--model=RNN"], ["--model=RNN", "--model.attention=Additive"],
                                  ["--model.position=Shaw"], ["--model.attention=Window"]])  # fmt: skip
def test_every_architecture_can_be_chosen(more: list[str], files: Path, tmp_path: Path):
    data = ["--train", files / "a.tsv", "--valid", files / "a.tsv"]
    small = [word for word in SMALL if "--model" not in word] + ["--model.width=16"]
    assert regard("train", "translate", "--out", tmp_path / "x", *data, *small, *more) == 0


@pytest.mark.parametrize(
    ("sources", "targets", "message"),
    [
        ("a\nb\n", "c\n", "line 2: has no counterpart"),
        ("a\n", "c\nd\ne\n", "line 2: has no counterpart"),
        ("\n", "c\n", "no pairs"),
        ("", "", "no pairs"),
    ],
)
def test_files_that_do_not_match_are_named(
    sources: str, targets: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture
):
    for name, text in (("s", sources), ("t", targets)):
        (tmp_path / name).write_text(text)
    data = [tmp_path / "s", tmp_path / "t"]
    assert regard("train", "translate", "--out", tmp_path / "x", "--train", *data, "--valid", *data, *SMALL) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_empty_pairs_are_skipped_and_counted(files: Path, tmp_path: Path, capsys: pytest.CaptureFixture):
    (tmp_path / "a.tsv").write_text((files / "a.tsv").read_text() + "\tnothing\nnichts\t\n")
    data = ["--train", tmp_path / "a.tsv", "--valid", files / "a.tsv"]
    assert regard("train", "translate", "--out", tmp_path / "x", *data, *SMALL) == 0
    assert "skipped 2 of 26 pairs with an empty side" in capsys.readouterr().err


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


@pytest.fixture(scope="module")
def trees(files: Path) -> Path:
    """A tree beside each source of the pairs."""
    (files / "a.conllu").write_text("".join(chain(source) for source, _ in PAIRS))
    data = ["--train", files / "a.tsv", "--valid", files / "a.tsv"]
    with_trees = ["--trees", files / "a.conllu", "--valid-trees", files / "a.conllu"]
    given = {"tree": [*with_trees, "--model.position=Tree"], "beside": with_trees, "none": []}
    for out, more in given.items():
        assert regard("train", "translate", "--out", files / out, *data, *SMALL, *more) == 0
    return files


def test_trees_go_all_the_way_from_file_to_model(
    trees: Path, tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch
):
    run = load_run(trees / "tree")
    texts = ["ein Hund", "zwei Katzen"]
    (tmp_path / "in.conllu").write_text("".join(map(chain, texts)))
    answers = run.translate(texts, max_tokens=5, trees=tmp_path / "in.conllu")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("\n".join(texts).encode())))
    capsys.readouterr()
    assert regard("translate", trees / "tree", "--trees", tmp_path / "in.conllu", "--max-tokens", "5") == 0
    assert capsys.readouterr().out.splitlines() == answers
    assert regard("evaluate", trees / "tree", trees / "a.tsv", "--trees", trees / "a.conllu", "--max-tokens=5") == 0
    assert f"pairs: {len(PAIRS)}" in capsys.readouterr().out

    memory = [run.model.encode(*read) for read in some_readings(run, tmp_path)]
    assert not memory[0].allclose(memory[1]), "another tree, another reading"


def some_readings(run: Run, folder: Path) -> Iterator[tuple[Tensor, None, Positions]]:
    """One text with two trees."""
    words = ["zwei", "Hunde", "Hunde"]
    for name, heads in (("a", [-1, 0, 1]), ("b", [1, 2, -1])):
        (folder / name).write_text(conllu(words, heads))
        parses = read_trees([folder / name])
        places = pad_trees(source_trees([" ".join(words)], parses, run.tokenizer))
        yield torch.full_like(places.depth, 7), None, places


def test_trees_that_a_position_does_not_use_change_nothing_and_are_noted(trees: Path, capsys: pytest.CaptureFixture):
    data = ["--train", trees / "a.tsv", "--valid", trees / "a.tsv", "--resume"]
    for out, count in (("beside", 1), ("tree", 0), ("none", 0)):
        assert regard("train", "translate", "--out", trees / out, *data) == 0
        assert capsys.readouterr().err.count("note: the trees are not used") == count
    assert (trees / "beside" / "model.safetensors").read_bytes() == (trees / "none" / "model.safetensors").read_bytes()


def test_a_resumed_run_keeps_its_trees(trees: Path, capsys: pytest.CaptureFixture):
    data = ["--train", trees / "a.tsv", "--valid", trees / "a.tsv"]
    assert regard("train", "translate", "--out", trees / "tree", *data, "--resume", "--steps", "5") == 0
    assert read_metrics(trees / "tree")[-1]["step"] == 5


def test_pairs_that_are_left_out_take_their_trees_along(tmp_path: Path):
    (tmp_path / "a.tsv").write_text("a\tx\nb\t\nc\ty\n")
    (tmp_path / "T").write_text(chain("a") + chain("b") + chain("c"))
    files, trees = (str(tmp_path / "a.tsv"),), (str(tmp_path / "T"),)
    data = PairFiles(train=files, valid=files, trees=trees, valid_trees=trees)
    assert [parse.words[0] for parse in data.parses()["train"]] == [source for source, _ in data.pairs()["train"]]


@pytest.mark.parametrize(
    ("more", "code", "message"),
    [
        (
            ["--model.position=Tree"],
            2,
            "model.position: Tree needs the tree of each text; give --trees",
        ),
        (["--trees", "T"], 2, "valid_trees: trees are needed for both"),
        (
            ["--trees", "T", "--valid-trees", "T", "--model=RNN"],
            2,
            "data.trees: RNN reads no trees; choose Transformer or BERT",
        ),
        (["--trees", "T", "T", "--valid-trees", "T"], 1, "T, line 1: this tree has no text; the last text is"),
        (["--trees", "short", "--valid-trees", "T"], 1, "a.tsv, line 2: has no tree; short ends after 1 sentences"),
        (
            ["--trees", "other", "--valid-trees", "T"],
            1,
            "a.tsv, line 2: does not match its tree at other, line 4",
        ),
        (["--trees", "T", "--valid-trees", "missing"], 1, "missing: cannot be read"),
    ],
)
def test_trees_that_cannot_be_used_are_refused_before_training(
    more: list[str], code: int, message: str, trees: Path, tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "T").write_text((trees / "a.conllu").read_text())
    (tmp_path / "short").write_text(chain(PAIRS[0][0]))
    (tmp_path / "other").write_text(chain(PAIRS[0][0]) * 24)
    data = ["--train", trees / "a.tsv", "--valid", trees / "a.tsv"]
    small = [word for word in SMALL if "layers" not in word]
    assert regard("train", "translate", "--out", "x", *data, *small, *more) == code
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "x").exists()


def test_using_a_run_with_the_wrong_trees_is_refused(
    trees: Path, tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch
):
    with pytest.raises(UserError, match="its Tree positions need the tree of each text"):
        load_run(trees / "tree").translate(["ein Hund"])
    (tmp_path / "T").write_text(chain("ein Hund"))
    with pytest.raises(UserError, match=r"text 1: does not match its tree at .*T, line 1: the text has 'eine'"):
        load_run(trees / "tree").translate(["eine Hund"], trees=tmp_path / "T")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"ein Hund\nzwei\n")))
    assert regard("translate", trees / "tree", "--trees", tmp_path / "T") == 1
    assert "standard input, line 2: has no tree" in capsys.readouterr().err
    data = ["--train", trees / "a.tsv", "--valid", trees / "a.tsv"]
    small = [word for word in SMALL if "--model" not in word] + ["--model.width=16"]
    assert regard("train", "translate", "--out", tmp_path / "rnn", *data, *small, "--model=RNN") == 0
    with pytest.raises(UserError, match="holds a RNN, which reads no trees"):
        load_run(tmp_path / "rnn").translate(["ein Hund"], trees=tmp_path / "T")
