"""LoRA adapters in PEFT's folders: the base model with W + s·B·A, as `transformers` computes it."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

import regard
from regard.core.errors import UserError
from tests.interop.comparing import tokens
from tests.interop.families import make

TARGETS = {"llama": ("q_proj", "down_proj"), "gpt2": ("c_attn",), "bert-label": ("query", "value")}


def adapter(theirs: Any, base: Path, folder: Path, targets: tuple[str, ...], **settings: Any) -> None:
    """An adapter for these modules in a folder, and added to `theirs` by hand."""
    folder.mkdir()
    stored, rank, transposed = {}, 3, type(theirs).__name__.startswith("GPT2")
    scale = 5.0 / (rank**0.5 if settings.get("use_rslora") else rank)
    with torch.no_grad():
        for name, module in theirs.named_modules():
            if name.endswith(targets):
                outputs, inputs = module.weight.T.shape if transposed else module.weight.shape
                down, up = torch.randn(rank, inputs) * 0.1, torch.randn(outputs, rank) * 0.1
                stored[f"base_model.model.{name}.lora_A.weight"] = down
                stored[f"base_model.model.{name}.lora_B.weight"] = up
                delta = up @ down * scale
                module.weight += delta.T if transposed else delta
    save_file(stored, folder / "adapter_model.safetensors")
    config = {"peft_type": "LORA", "base_model_name_or_path": str(base), "r": rank, "lora_alpha": 5, "bias": "none"}
    config |= {"fan_in_fan_out": transposed, "target_modules": list(targets), **settings}
    (folder / "adapter_config.json").write_text(json.dumps(config))


@pytest.mark.parametrize("name", TARGETS)
def test_a_base_with_its_adapter(name: str, tmp_path: Path) -> None:
    theirs = make(name)
    theirs.save_pretrained(tmp_path / "base")
    adapter(theirs, tmp_path / "base", tmp_path / "adapter", TARGETS[name], use_rslora=name == "llama")
    run, given = regard.load(tmp_path / "adapter"), tokens(2, 7)
    assert run.path == tmp_path / "base"
    with torch.no_grad():
        wanted, plain = theirs(given).logits, regard.load(tmp_path / "base").model(given)
        assert (run.model(given) - wanted).abs().max() < 1e-5
        assert (plain - wanted).abs().max() > 1e-3, "an adapter that changes nothing would show nothing"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"peft_type": "IA3"}, "peft_type"),
        ({"use_dora": True}, "use_dora"),
        ({"modules_to_save": ["lm_head"]}, "modules_to_save"),
        ({"base_model_name_or_path": ""}, "base_model_name_or_path"),
        ({"base_model_name_or_path": "org/absent"}, "hf download org/absent"),
        ({"fan_in_fan_out": True}, "the base model"),
    ],
)
def test_adapters_that_are_refused(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    theirs = make("llama")
    theirs.save_pretrained(tmp_path / "base")
    adapter(theirs, tmp_path / "base", tmp_path / "adapter", ("down_proj",), **change)
    with pytest.raises(UserError, match=message):
        regard.load(tmp_path / "adapter")


def test_adapters_of_other_models(tmp_path: Path) -> None:
    theirs = make("llama")
    make("gpt2").save_pretrained(tmp_path / "base")
    adapter(theirs, tmp_path / "base", tmp_path / "adapter", ("q_proj",))
    with pytest.raises(UserError, match="has no model"):
        regard.load(tmp_path / "adapter")
    (tmp_path / "adapter" / "adapter_model.safetensors").unlink()
    with pytest.raises(UserError, match="holds no weights of an adapter"):
        regard.load(tmp_path / "adapter")
