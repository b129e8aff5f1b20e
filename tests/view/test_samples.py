"""Samples of what a model does by now: training logs them beside each check, and the picture of training holds them."""

from pathlib import Path

import pytest
import torch
from torch import nn

from regard.store import read_metrics
from regard.tasks import load_run
from regard.train import Loop
from regard.view.pictures import training_picture
from tests.command import regard
from tests.train.tiny import train_tiny, weights_of

TEXT = "to be, or not to be: that is the question.\n"
SMALL = [
    "--training.batch_size=4",
    "--model.width=16",
    "--model.heads=2",
    "--model.layers=1",
    "--training.eval_every=2",
]


def samples(run: Path, checks: int) -> list[str]:
    """One beside each validation, and those on the page are they."""
    checked = [line for line in read_metrics(run) if "valid" in line]
    assert len(checked) == checks
    kept = [(line["step"], line["sample"]) for line in checked]
    assert [(one["step"], one["text"]) for one in training_picture(run)["samples"]] == kept
    return [text for _, text in kept]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "corpus.txt"
    path.write_text(TEXT * 40)
    return path


@pytest.mark.parametrize("more", [(), ("--model.position=Learned", "--model.position.length=12")])
def test_a_language_model_goes_on_from_its_validation_text(corpus: Path, tmp_path: Path, more: tuple[str, ...]) -> None:
    words = ["--data", corpus, "--out", tmp_path / "lm", *SMALL, "--data.length=12", "--steps=4", *more]
    assert regard("train", "lm", *words) == 0
    for text in samples(tmp_path / "lm", checks=2):
        prompt, bar, written = text.partition("│")
        assert bar
        assert prompt in TEXT * 2
        assert 0 < len(written) <= 40


def test_pairs_show_a_source_and_what_is_written_for_it(tmp_path: Path) -> None:
    train_tiny(tmp_path / "dates", steps=4, eval_every=4, ema=0.0)
    [text] = samples(tmp_path / "dates", checks=1)
    source, written = text.split("\n→ ")
    assert load_run(tmp_path / "dates").translate([source], max_tokens=40) == [written]


def test_an_encoder_fills_the_hidden_word(corpus: Path, tmp_path: Path) -> None:
    words = ["--data", corpus, "--out", tmp_path / "fill", *SMALL, "--data.length=16", "--steps=2"]
    assert regard("train", "fill", *words) == 0
    [text] = samples(tmp_path / "fill", checks=1)
    filled, masked = text.split("\nmasked: ")
    before, _, after = filled.partition("[")
    assert f"{before}{masked}{after.partition(']')[2]}" in TEXT * 2


def test_a_sample_that_draws_lots_changes_no_bit_of_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train_tiny(tmp_path / "as-it-is")

    def restless(*_: object) -> object:
        def sample(model: nn.Module) -> str:
            assert not model.training
            return str(torch.rand(3).tolist())

        return sample

    monkeypatch.setattr("regard.tasks.seq2seq.prepare.translation_sample", restless)
    train_tiny(tmp_path / "restless")
    assert weights_of(tmp_path / "restless") == weights_of(tmp_path / "as-it-is")
    assert samples(tmp_path / "restless", checks=3)[0].startswith("[0.")


def test_a_run_that_was_cut_off_ends_with_the_same_bits_and_samples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train_tiny(tmp_path / "whole")
    step = Loop._step

    def cut(loop: Loop, *words: object) -> object:
        if loop.progress.step == 7:
            raise OSError("the power is gone")
        return step(loop, *words)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(Loop, "_step", cut)
        with pytest.raises(OSError, match="the power"):
            train_tiny(tmp_path / "cut")
    train_tiny(tmp_path / "cut", resume=True)
    assert weights_of(tmp_path / "cut") == weights_of(tmp_path / "whole")
    assert samples(tmp_path / "cut", checks=3) == samples(tmp_path / "whole", checks=3)
