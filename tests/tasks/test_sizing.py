"""The recipe of a language model follows its text and its minutes, and says why."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from regard.models import GPT
from regard.store import read_config
from regard.tasks.lm.recipe import language_model
from regard.tasks.lm.sizing import Reasons, TextSize, _passes, fitted, parameters
from regard.tasks.plan import Plan
from regard.text import BPE, Bytes, Characters
from tests.command import regard


@pytest.fixture(autouse=True)
def two_cores(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("regard.tasks.lm.sizing.get_num_threads", lambda: 2)
    monkeypatch.setattr("regard.tasks.lm.sizing.best_device", lambda: "cpu")
    monkeypatch.setattr("regard.tasks.lm.sizing.has_fast_bfloat16", lambda: False)


def of_size(size: float, monkeypatch: pytest.MonkeyPatch, letters: int = 60, **budget: float) -> tuple[Plan, Reasons]:
    monkeypatch.setattr(TextSize, "of", lambda corpus: TextSize(size, letters, "a.txt"))
    return fitted(language_model(("a.txt",)), **budget)


def test_a_megabyte_and_ten_minutes_are_the_recipe_itself(monkeypatch: pytest.MonkeyPatch):
    """The recipe was tuned with Shakespeare's 1,115,394 characters: nothing of it changes there."""
    plan, reasons = of_size(1_115_394, monkeypatch)
    assert plan == language_model(("a.txt",))
    assert set(reasons) == {"data.tokenizer", "model", "model.dropout"}
    short, _ = of_size(1_115_394, monkeypatch, minutes=1.0)
    assert short.model == replace(plan.model, dropout=0.0), "what is read once cannot be learned by heart"


def test_more_text_and_time_never_give_a_smaller_model(monkeypatch: pytest.MonkeyPatch):
    sizes, minutes = [1e3, 1e4, 1e5, 3e5, 1e6, 3.9e6, 1e7, 1e8, 1e9, 1e11], [0.1, 1, 10, 100, 1e3, 1e4, 1e5]
    found = [[parameters(of_size(size, monkeypatch, minutes=time)[0].model) for time in minutes] for size in sizes]
    table = torch.tensor(found)
    assert (table.diff(dim=1) >= 0).all()
    by_characters, by_subwords = table[:6], table[6:]  # a subword stands for several characters
    assert (by_characters.diff(dim=0) >= 0).all()
    assert (by_subwords.diff(dim=0) >= 0).all()
    assert table.min() < 2e5
    assert table.max() > 5e7


@pytest.mark.parametrize(
    ("size", "letters", "kind"),
    [(1e4, 60, Characters()), (3e6, 60, Characters()), (3e6, 2000, Bytes()), (1e7, 60, BPE(4000))],
)
def test_the_tokenizer_follows_the_text(size: float, letters: int, kind: object, monkeypatch: pytest.MonkeyPatch):
    plan, _ = of_size(size, monkeypatch, letters)
    assert plan.data.tokenizer == kind


def test_text_that_is_read_often_gets_more_dropout_and_an_end(monkeypatch: pytest.MonkeyPatch):
    small, reasons = of_size(1e5, monkeypatch)
    assert small.model.dropout == 0.3
    assert small.training.epochs == 60
    assert small.training.minutes == 10
    assert "at most 60 epochs" in reasons["training.epochs"]
    large, _ = of_size(1e9, monkeypatch)
    assert (large.model.dropout, large.training.epochs) == (0.0, None)
    assert of_size(1e5, monkeypatch, epochs=2.0)[0].model.dropout == 0.1


def test_a_processor_with_bfloat16_reads_more_in_the_same_time(monkeypatch: pytest.MonkeyPatch):
    assert of_size(1_115_394, monkeypatch, minutes=30.0)[0].model.dropout == 0.1
    monkeypatch.setattr("regard.tasks.lm.sizing.has_fast_bfloat16", lambda: True)
    assert of_size(1_115_394, monkeypatch, minutes=30.0)[0].model.dropout == 0.2


def test_too_little_text_is_said_to_be(monkeypatch: pytest.MonkeyPatch):
    plan, reasons = of_size(3000, monkeypatch)
    assert "a.txt: 3 kB are too little text" in reasons[""]
    assert plan.data.length == 128
    assert "" not in of_size(1e5, monkeypatch)[1]


def test_reasons_are_printed_but_not_of_what_the_user_sets(tmp_path: Path, capsys: pytest.CaptureFixture):
    (tmp_path / "a.txt").write_text("to be, or not to be. " * 2000)
    command = ["train", "lm", "--data", tmp_path / "a.txt", "--out", tmp_path / "run"]
    assert regard(*command, "--show-settings") == 0
    shown = capsys.readouterr().out
    assert "# a token is a character" in shown
    assert "# 2 layers of width 64" in shown
    assert regard(*command, "--show-settings", "--model.width", "32", "--data.tokenizer", "BPE") == 0
    shown = capsys.readouterr().out
    assert "# a token is" not in shown
    assert "# 2 layers" not in shown
    assert "# dropout" in shown
    assert regard(*command, "--steps", "2", "--data.length", "16") == 0
    assert "too little text" in capsys.readouterr().err
    assert read_config(tmp_path / "run")["model"]["width"] == 64
    (tmp_path / "empty.txt").touch()
    assert regard("train", "lm", "--data", tmp_path / "empty.txt", "--out", tmp_path / "none") == 1
    assert "too few" in capsys.readouterr().err


def test_many_tokens_have_no_vector_for_each_pair(tmp_path: Path):
    """The recipe gives pairs of tokens a vector each, which is for characters."""
    words = [f"word{number:05d}" for number in range(3000)]
    (tmp_path / "a.txt").write_text(" ".join(words * 2))
    command = ["train", "lm", "--data", tmp_path / "a.txt", "--out", tmp_path / "run", "--steps=1", "--data.length=16"]
    assert regard(*command, "--data.tokenizer=BPE", "--data.tokenizer.vocab=1500") == 0
    model = read_config(tmp_path / "run")["model"]
    assert model["bigram"] is None
    assert model["vocab"] == 1500
    assert GPT(vocab=5).bigram is None


def test_passes_over_the_text_are_rounded_as_the_speed_is_assumed():
    said = [_passes(count) for count in (0.3, 1.2, 7.6, 31.9, 58.0)]
    assert said == ["less than one pass", "about 1 pass", "about 8 passes", "about 30 passes", "about 60 passes"]
