"""A model made in Python as a run folder: `evaluate` takes it as it takes one of `regard train`."""

import json
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
import yaml

import regard as library
from regard.core import tensors
from regard.core.errors import UserError
from regard.models import BERT, GPT
from regard.models.heads import ClassifierHead
from regard.parts.positions import Learned
from regard.store import CONFIG, WEIGHTS, read_config
from regard.tasks import Classify, LanguageModel, MaskedLM, save_run
from regard.text import Characters
from tests.command import regard

TEXT = "the cat sat on the mat, and it rained and rained. " * 8
SMALL = {"width": 16, "layers": 1, "heads": 2, "dropout": 0.0}


def saved(folder: Path, task: LanguageModel | MaskedLM, **more: object) -> Path:
    tokenizer = Characters().train([TEXT])
    kind = GPT if isinstance(task, LanguageModel) else BERT
    torch.manual_seed(0)
    config = kind(vocab=tokenizer.vocab, **SMALL, **more)
    save_run(folder / "run", config, config.build(), task, tokenizer)
    (folder / "text.txt").write_text(TEXT)
    return folder / "run"


def scores(path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    assert regard("evaluate", path, path.parent / "text.txt", "--json") == 0
    return json.loads(capsys.readouterr().out)


def by_hand(path: Path, length: int) -> float:
    """The mean loss, window by window."""
    run = library.load(path)
    [tokens] = run.tokenizer.encode([TEXT])
    nats = 0.0
    for first in range(0, len(tokens) - 1, length):
        piece = torch.tensor(tokens[first : first + length + 1])
        with torch.no_grad():
            nats += F.cross_entropy(run.model(piece[None, :-1])[0], piece[1:], reduction="sum").item()
    return nats / (len(tokens) - 1)


def test_a_language_model_is_measured_in_windows_of_its_task(tmp_path, capsys):
    path = saved(tmp_path, LanguageModel(length=16))
    result = scores(path, capsys)
    assert result["loss"] == pytest.approx(by_hand(path, 16), abs=1e-4)
    assert "windows of 16 tokens" in result["protocol"]


@pytest.mark.parametrize("damage", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_refused(damage, tmp_path):
    path = saved(tmp_path, LanguageModel())
    weights = tensors.load(path / WEIGHTS)
    weights["decoder.norm.weight"][3] = damage
    tensors.save(path / WEIGHTS, weights)
    with pytest.raises(UserError, match=r"model\.safetensors: decoder\.norm\.weight holds values that are not finite"):
        library.load(path)


@pytest.mark.parametrize("labels", [(), ("a", "b"), ("a", "b", "c", "d")])
def test_labels_must_be_as_many_as_the_scores(labels, tmp_path):
    tokenizer = Characters().train([TEXT])
    config = BERT(vocab=tokenizer.vocab, head=ClassifierHead(3), **SMALL)
    save_run(tmp_path / "run", config, config.build(), Classify(labels), tokenizer)
    with pytest.raises(UserError, match=rf"config\.yaml: task\.labels: has {len(labels)} labels, the model 3"):
        library.load(tmp_path / "run")


def test_a_task_that_says_nothing_has_the_usual_window_or_what_its_positions_reach(tmp_path, capsys):
    assert "windows of 256 tokens" in scores(saved(tmp_path, LanguageModel()), capsys)["protocol"]
    (tmp_path / "short").mkdir()
    assert (
        "windows of 24 tokens"
        in scores(saved(tmp_path / "short", LanguageModel(), position=Learned(24)), capsys)["protocol"]
    )


def test_one_that_fills_in_words_is_measured_too(tmp_path, capsys):
    result = scores(saved(tmp_path, MaskedLM(length=20)), capsys)
    assert "windows of 20 tokens" in result["protocol"]
    assert result["masked"] > 0


def test_folders_from_before_tasks_knew_their_window_are_read(tmp_path, capsys):
    path = saved(tmp_path, LanguageModel(length=16))
    new = scores(path, capsys)
    settings = read_config(path)
    del settings["task"]["length"]
    (path / CONFIG).write_text(yaml.safe_dump({**settings, "data": {"kind": "Corpus", "length": 16}}))
    assert scores(path, capsys) == new


@pytest.mark.parametrize(("task", "more"), [("lm", ()), ("fill", ("--data.tokenizer.vocab", 300))])
def test_training_writes_the_window_down(task, more, tmp_path):
    (tmp_path / "text.txt").write_text(TEXT * 4)
    small = ["--steps", 1, "--model.width", 16, "--model.layers", 1, "--model.heads", 2, "--data.length", 12]
    words = ["train", task, "--data", tmp_path / "text.txt", "--out", tmp_path / "run", *small, *more]
    assert regard(*words) == 0
    assert library.load(tmp_path / "run").task.length == 12
