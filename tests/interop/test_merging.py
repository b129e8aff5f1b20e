"""Runs with an adapter leave as PEFT folders and as plain weights, with the same answers."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

import regard
from regard.core.errors import UserError
from regard.tasks.merging import merge_adapter
from tests.command import regard as command
from tests.interop.comparing import tokens
from tests.interop.families import make
from tests.interop.test_peft import TARGETS, adapter
from tests.interop.worded import TEXTS, folder

STEPS = ["--steps", 4, "--training.optimiser.lr", 0.05, "--training.batch_size", 4, "--training.ema", 0]


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Base models, and runs with an adapter beside each."""
    place = tmp_path_factory.mktemp("adapted")
    (place / "corpus.txt").write_text("\n".join(TEXTS * 20))
    for name in ("llama", "gpt2", "neox"):
        folder(name, place / name)
        out, lora = place / f"{name}-run", ["--adapter", "LoRA", "--adapter.rank", 3]
        words = ["--data", place / "corpus.txt", "--data.length", 12, "--init", place / name, "--out", out]
        assert command("train", "lm", *words, *lora, *STEPS) == 0
    return place


def logits(path: Path, given: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        return regard.load(path).model(given)


@pytest.mark.parametrize("name", ["llama", "gpt2", "neox"])
def test_a_run_leaves_as_a_peft_folder(name: str, shelf: Path, tmp_path: Path) -> None:
    given, run, out = tokens(2, 9), shelf / f"{name}-run", tmp_path / "adapter"
    assert command("export", run, "--to", "peft", "--out", out) == 0
    wanted = logits(run, given)
    assert (wanted - logits(shelf / name, given)).abs().max() > 1e-2, "an adapter that changes nothing shows nothing"
    assert (logits(out, given) - wanted).abs().max() < 1e-5
    peft = pytest.importorskip("peft", reason="no extra has it")
    base = transformers.AutoModelForCausalLM.from_pretrained(shelf / name).eval()
    with torch.no_grad():
        theirs = peft.PeftModel.from_pretrained(base, str(out)).eval()(given).logits
    assert (theirs - wanted).abs().max() < 1e-5


@pytest.mark.parametrize("name", ["llama", "gpt2", "neox"])
def test_a_merged_run_is_the_adapted_one(name: str, shelf: Path, tmp_path: Path) -> None:
    given, run, out = tokens(2, 9), shelf / f"{name}-run", tmp_path / "merged"
    assert command("merge", run, "--out", out) == 0
    assert (logits(out, given) - logits(run, given)).abs().max() < 1e-5
    assert not (out / "base.json").exists()
    assert command("generate", out, "--prompt", "Two dogs", "--max-tokens", 4, "--temperature", 0) == 0
    assert command("export", out, "--to", "huggingface", "--out", tmp_path / "hf") == 0
    theirs = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "hf").eval()
    with torch.no_grad():
        assert (theirs(given).logits - logits(run, given)).abs().max() < 1e-5
    assert command("export", out, "--to", "peft", "--out", tmp_path / "no") != 0


@pytest.mark.parametrize("name", TARGETS)
def test_a_merged_peft_folder_is_the_adapted_model(name: str, tmp_path: Path) -> None:
    theirs = make(name)
    theirs.save_pretrained(tmp_path / "base")
    adapter(theirs, tmp_path / "base", tmp_path / "adapter", TARGETS[name])
    assert command("merge", tmp_path / "adapter", "--out", tmp_path / "merged") == 0
    given = tokens(2, 7)
    again = type(theirs).from_pretrained(tmp_path / "merged").eval()
    with torch.no_grad():
        wanted = theirs(given).logits
        assert (again(given).logits - wanted).abs().max() < 1e-5
        assert (regard.load(tmp_path / "merged").model(given) - wanted).abs().max() < 1e-5


def test_a_merged_folder_keeps_its_tokenizer_and_precision(shelf: Path, tmp_path: Path) -> None:
    assert command("export", shelf / "llama-run", "--to", "peft", "--out", tmp_path / "adapter") == 0
    half = transformers.AutoModelForCausalLM.from_pretrained(shelf / "llama", dtype=torch.bfloat16)
    transformers.AutoTokenizer.from_pretrained(shelf / "llama").save_pretrained(tmp_path / "half")
    half.save_pretrained(tmp_path / "half")
    config = json.loads((tmp_path / "adapter" / "adapter_config.json").read_text())
    (tmp_path / "adapter" / "adapter_config.json").write_text(
        json.dumps(config | {"base_model_name_or_path": str(tmp_path / "half")})
    )
    assert command("merge", tmp_path / "adapter", "--out", tmp_path / "merged") == 0
    run = regard.load(tmp_path / "merged", dtype="auto")
    assert next(run.model.parameters()).dtype == torch.bfloat16
    assert run.tokenizer.encode(TEXTS) == regard.load(shelf / "llama").tokenizer.encode(TEXTS)


def refused(capsys: pytest.CaptureFixture[str], *words: Any) -> str:
    assert command(*words) != 0
    return capsys.readouterr().err


def test_what_cannot_be_merged_is_one_line(shelf: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "has no adapter" in refused(capsys, "merge", shelf / "llama", "--out", tmp_path / "x")
    assert "already exists" in refused(capsys, "merge", shelf / "llama-run", "--out", shelf)
    assert "has no adapter" in refused(capsys, "export", shelf / "llama", "--to", "peft", "--out", tmp_path / "x")
    with pytest.raises(UserError, match="there is no such folder"):
        merge_adapter(tmp_path / "absent", tmp_path / "x")


def test_an_adapter_beside_a_run_is_merged_and_not_given_to_peft(
    shelf: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        "--data",
        shelf / "corpus.txt",
        "--data.length",
        12,
        "--init",
        shelf / "llama-run",
        "--out",
        tmp_path / "two",
    ]
    assert command("train", "lm", *words, "--adapter", "LoRA", *STEPS) == 0
    assert "is a run" in refused(capsys, "export", tmp_path / "two", "--to", "peft", "--out", tmp_path / "x")
    assert command("merge", tmp_path / "two", "--out", tmp_path / "merged") == 0
    given = tokens(2, 9)
    assert (logits(tmp_path / "merged", given) - logits(tmp_path / "two", given)).abs().max() < 1e-5
