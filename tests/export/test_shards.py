"""Hugging Face folders with weights in shards, loaded by `transformers` and by regard; a run in a notebook."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import regard as library
from regard.core.errors import ConfigError
from regard.export import HuggingFace, export
from regard.export.shards import parse_size
from regard.models import GPT
from regard.tasks import LanguageModel, save_run
from regard.tasks.lm.recipe import language_model
from regard.tasks.portable import portable
from regard.text import Characters
from tests.command import regard


@pytest.fixture
def run(tmp_path: Path) -> Path:
    tokenizer = Characters().train(["the cat sat on the mat"])
    model = portable(language_model(("none.txt",))).model
    assert isinstance(model, GPT)
    config = replace(model, vocab=tokenizer.vocab, width=32, layers=2, heads=2)
    save_run(tmp_path / "<run>", config, config.build(), LanguageModel(), tokenizer)
    return tmp_path / "<run>"


def test_shards_hold_the_same_weights(run: Path, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    assert regard("export", run, "--to", "huggingface", "--out", tmp_path / "hf", "--max-shard-size", "20KB") == 0
    files = sorted((tmp_path / "hf").glob("model-*.safetensors"))
    index = json.loads((tmp_path / "hf" / "model.safetensors.index.json").read_text())
    assert len(files) > 1
    assert set(index["weight_map"].values()) == {file.name for file in files}
    assert not (tmp_path / "hf" / "model.safetensors").exists()
    ours, back = library.load(run), library.load(tmp_path / "hf")
    theirs = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "hf").eval()
    tokens = torch.randint(1, ours.config.vocab, (2, 9))
    with torch.inference_mode():
        expected = ours.model.eval()(tokens)
        torch.testing.assert_close(back.model.eval()(tokens), expected, atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(theirs(tokens).logits, expected, atol=1e-5, rtol=1e-5)


def test_small_weights_stay_whole(run: Path, tmp_path: Path) -> None:
    export(library.load(run), HuggingFace(max_shard_size="1GB"), tmp_path / "hf")
    assert [file.name for file in (tmp_path / "hf").glob("*.safetensors*")] == ["model.safetensors"]


@pytest.mark.parametrize("size", ["5", "0GB", "big", "-1MB", "5TB"])
def test_what_is_not_a_size_is_refused(size: str) -> None:
    with pytest.raises(ConfigError, match="such as 5GB"):
        parse_size(size)


def test_a_run_in_a_notebook(run: Path) -> None:
    shown = library.load(run)._repr_html_()
    assert "&lt;run&gt;" in shown
    assert "LanguageModel" in shown
    assert "generate" in shown
