"""The study of heads from the command line to the report."""

import json
import re
from pathlib import Path

import pytest

from regard.store import read_metrics
from tests.command import regard
from tests.images.make import write_classes


def test_heads_of_a_run_with_trees(here: Path, capsys: pytest.CaptureFixture[str]):
    tiny = ["--steps", 3, "--training.batch_size=4", "--model.width=16", "--model.heads=2", "--model.layers=1"]
    assert regard("train", "lm", "--data", "text.txt", "--out", "lm", "--data.length=16", *tiny) == 0
    rows = ["1\tto\t_\tX\t_\t_\t2\tdep\t_\t_", "2\tbe\t_\tX\t_\t_\t0\troot\t_\t_", "3\tor\t_\tX\t_\t_\t2\tdep\t_\t_"]
    (here / "t.conllu").write_text(("\n".join(rows) + "\n\n") * 2)
    assert regard("study", "heads", "lm", "--out", "s", "--trees", "t.conllu", "--batches", 1) == 0
    assert re.search(r"masking 2 heads one by one: about \d+:\d\d\n", capsys.readouterr().err)
    [report] = json.loads((here / "s" / "heads.json").read_text())
    assert len(report["heads"]) == 2
    [every] = report["relations"]
    assert (every["relation"], every["words"]) == ("all", 1), "only the word whose syntactic head is before it counts"
    assert (every["offset"], every["offset_accuracy"]) == (-1, 1.0)
    assert "delimiter" in (here / "s" / "report.md").read_text()
    before = (here / "s" / "report.md").read_bytes()
    assert regard("study", "heads", "lm", "--out", "s", "--batches", 1) == 1, "that is another question"
    assert "holds a study with trees ['t.conllu'], not []" in capsys.readouterr().err
    assert regard("study", "ablate", "--task", "lm", "--data", "text.txt", "--out", "s", "--steps", 4) == 1
    assert "s: holds a study of another kind" in capsys.readouterr().err
    assert (here / "s" / "report.md").read_bytes() == before


def test_a_bad_folder_is_refused_before_heads_are_measured(here: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("regard.studies.heads.study.load_subject", lambda *_: pytest.fail("measured"))
    (here / "s").write_text("mine")
    assert regard("study", "heads", "lm", "--out", "s") == 1


@pytest.mark.parametrize("task", ["fill", "summarise", "image"])
def test_heads_of_every_kind_of_run(here: Path, task: str):
    tiny = ["--steps", 2, "--training.batch_size=4", "--model.width=16", "--model.heads=2", "--model.layers=1"]
    (here / "pairs.tsv").write_text("the cat sat on the mat\tthe cat sat\n" * 9)
    if task == "image":
        write_classes(here / "photos", 6)
    files = {
        "fill": ["--data", "text.txt", "--data.length=16"],
        "summarise": ["--train", "pairs.tsv", "--valid", "pairs.tsv", "--data.tokenizer.vocab=300"],
        "image": ["--train", "photos", "--valid", "photos"],
    }
    assert regard("train", task, *files[task], "--out", "run", *tiny) == 0
    assert regard("study", "heads", "run", "--out", "s", "--batches", 99) == 0
    [report] = json.loads((here / "s" / "heads.json").read_text())
    assert report["loss"] == pytest.approx(min(line["valid"] for line in read_metrics(here / "run") if "valid" in line))
    assert len(report["heads"]) >= 2
    if task != "image":
        assert any(head["shares"] for head in report["heads"])
