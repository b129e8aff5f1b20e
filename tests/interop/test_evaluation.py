"""`evaluate` takes Hugging Face folders, whose task follows from the model; losses are those of transformers."""

import json
import math
from pathlib import Path

import pytest
import torch

from regard.tasks import load_run
from tests.command import regard
from tests.interop import worded

TEXT = "Two dogs play in the snow. A cat sleeps on the mat, and the child looks at it.\n"


def evaluated(capsys: pytest.CaptureFixture[str], *words: object) -> dict[str, float]:
    assert regard("evaluate", *words, "--json") == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_language_models_are_measured_in_nats(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    theirs = worded.folder(name, tmp_path / name)
    (tmp_path / "text.txt").write_text(TEXT)
    scores = evaluated(capsys, tmp_path / name, tmp_path / "text.txt")
    run = load_run(tmp_path / name)
    tokens = torch.tensor(run.tokenizer.encode([TEXT]))
    with torch.no_grad():
        loss = theirs(input_ids=tokens, labels=tokens).loss.item()
    assert scores["tokens"] == tokens.shape[1] - 1
    assert scores["loss"] == pytest.approx(loss, abs=1e-4)
    assert scores["perplexity"] == pytest.approx(math.exp(loss), rel=1e-3)


@pytest.mark.parametrize("name", ["marian", "t5"])
def test_translators_are_measured_in_bleu(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    worded.folder(name, tmp_path / name)
    (tmp_path / "pairs.tsv").write_text("source\ttarget\nTwo dogs\tA cat\nA cat sleeps\tTwo dogs play\n")
    scores = evaluated(capsys, tmp_path / name, tmp_path / "pairs.tsv", "--max-tokens", "8")
    assert scores["pairs"] == 2
    assert 0 <= scores["bleu"] <= 100
    assert load_run(tmp_path / name)(["Two dogs"], max_tokens=4), "and run(inputs) translates"
