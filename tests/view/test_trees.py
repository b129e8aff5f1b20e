"""Runs with Tree positions on show: the tree of a text is found among those that are given."""

import json
import re
from pathlib import Path

import pytest
import torch

import regard
from regard.data.trees.conllu import read_trees
from regard.models import BERT, RNNLM, ClassifierHead, Transformer
from regard.parts.positions import Tree
from regard.parts.taps import listen
from regard.tasks import Classify, LanguageModel, Translate, save_run
from regard.tasks.recording import ViewInput
from regard.text import Characters
from regard.view.open_run import OpenRun
from tests.command import regard as command
from tests.conllu import chain, conllu
from tests.view.runs import LETTERS, SMALL

TEXT = "two dogs play"


@pytest.fixture
def trees(tmp_path: Path) -> Path:
    """The text stands among others; its words all hang from the last."""
    (tmp_path / "trees.conllu").write_text(chain("the cat sleeps") + conllu(TEXT.split(), [2, 2, -1]) + chain("a man"))
    return tmp_path / "trees.conllu"


def save(folder: Path, name: str) -> Path:
    tokenizer = Characters().train([LETTERS])
    position = {"vocab": tokenizer.vocab, "position": Tree(), **SMALL}
    config, task = {
        "pair": (Transformer(**position), Translate()),
        "label": (BERT(**position, head=ClassifierHead(2)), Classify(labels=("ham", "spam"), max_length=16)),
        "writer": (RNNLM(vocab=tokenizer.vocab, width=8, layers=1), LanguageModel()),
    }[name]
    torch.manual_seed(0)
    model = config.build()
    for parameter in model.parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=0.4)
    save_run(folder / name, config, model, task, tokenizer)
    return folder / name


@pytest.mark.parametrize("name", ["pair", "label"])
def test_what_is_drawn_is_what_the_run_does_with_that_tree(name: str, tmp_path: Path, trees: Path) -> None:
    path = save(tmp_path, name)
    parses = read_trees([trees])
    run = regard.load(path)
    with listen(run.model) as heard:
        used = run.translate([TEXT], trees=[parses[1]]) if name == "pair" else run.classify([TEXT], [parses[1]])
    recording = OpenRun(path, parses).record(ViewInput(TEXT))
    assert recording.answer == used[0]
    look = recording.map("encoder.0.attend")
    assert torch.allclose(look.pattern, heard["encoder.0.attend.pattern"][0], atol=1e-6)
    [other] = read_trees([_write(tmp_path / "other.conllu", chain(TEXT))])
    other = OpenRun(path, [other]).record(ViewInput(TEXT)).map("encoder.0.attend")
    assert not torch.allclose(look.pattern, other.pattern, atol=1e-3)


def _write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", ["pair", "label"])
def test_view_and_plot_take_trees(name: str, tmp_path: Path, trees: Path) -> None:
    path = save(tmp_path, name)
    given = ["--input", TEXT, "--trees", trees]
    assert command("plot", path, *given, "--out", tmp_path / "a.png") == 0
    assert command("view", path, *given, "--export", tmp_path / "a.html") == 0
    kept = re.search(r'id="data">(.*?)</script>', (tmp_path / "a.html").read_text())
    assert kept is not None
    assert "api/runs/0/record" in json.loads(kept[1])


def test_mistakes_are_one_line(tmp_path: Path, trees: Path, capsys) -> None:
    pair, writer = save(tmp_path, "pair"), save(tmp_path, "writer")
    out = ["--out", tmp_path / "a.png"]
    for words, message in (
        ([pair, "--input", TEXT], "none is given; name a CoNLL-U file that has it with --trees"),
        ([pair, "--input", "two cats", "--trees", trees], "none of the 3 trees belongs to it"),
        ([writer, "--input", TEXT], "the attention of a RNNLM is not drawn; its curves are"),
        ([writer, "--input", TEXT, "--trees", trees], "none of these runs has Tree positions"),
    ):
        assert command("plot", *words, *out) in (1, 2)
        err = capsys.readouterr().err
        assert message in err
        assert err.count("\n") == 1
        assert not (tmp_path / "a.png").exists()
