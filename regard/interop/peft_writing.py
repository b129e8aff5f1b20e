"""An adapter of ours as PEFT stores it: two thin matrices for each module of the Hugging Face model.

One module of theirs may be several layers of ours, such as the queries, keys and values of GPT-2. Their adapters
become one of a higher rank: A holds the rows of all, B has a block of columns for each. Where ranks then differ, the
lower ones are filled up with zeros, so that one number says the rank of all.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

from regard.core import tensors
from regard.core.errors import ConfigError
from regard.core.files import write_text
from regard.interop.base_model import base_folder
from regard.interop.folder import listed
from regard.interop.huggingface import open_model
from regard.interop.peft import CONFIG, DOWN, NAMES, PREFIX, UP
from regard.interop.table import Row, fitting
from regard.models import Model
from regard.parts.adapter import Adapter
from regard.store import WEIGHTS

OURS = (".adapter.down", ".adapter.up")
TASKS = {"CausalLM": "CAUSAL_LM", "ConditionalGeneration": "SEQ_2_SEQ_LM", "MTModel": "SEQ_2_SEQ_LM"}


def write_adapter(run: Path, config: Model, adapter: Adapter, base: Path, folder: Path) -> None:
    """Write adapter_config.json and adapter_model.safetensors; what PEFT cannot hold is named."""
    path, other = base_folder(base)
    if other is not None:
        raise ConfigError(f"--to peft: the base model {base} has an adapter itself; use `regard merge`")
    trained = tensors.load(run / WEIGHTS)
    if more := [name for name in trained if not name.endswith(OURS)]:
        raise ConfigError(f"--to peft: {listed(more)} was trained beside the adapter; use `regard merge`")
    with open_model(path) as opened, torch.device("meta"):
        shapes = opened.config.build().state_dict()
        rows, architecture = fitting(opened.family.table(opened.config), shapes), opened.architecture
    factors = {
        row.theirs: _factors(row, trained, shapes) for row in rows if any(_down(name) in trained for name in row.ours)
    }
    if experts := [name for name in factors if ".experts." in name]:
        raise ConfigError(f"--to peft: {experts[0]} is no module of its own in transformers; use `regard merge`")
    flipped = {name: one[2] for name, one in factors.items()}
    if len(set(flipped.values())) > 1:
        raise ConfigError("--to peft: some layers of the base model are transposed, others not; use `regard merge`")
    rank = max(len(down) for down, _, _ in factors.values())
    stored: dict[str, Tensor] = {}
    for name, (down, up, _) in factors.items():
        module, missing = PREFIX + name.removesuffix(".weight"), rank - len(down)
        stored[module + DOWN] = torch.nn.functional.pad(down, (0, 0, 0, missing)).contiguous()
        stored[module + UP] = torch.nn.functional.pad(up, (0, missing)).contiguous()
    save_file(stored, folder / NAMES[0], metadata={"format": "pt"})
    (folder / NAMES[0]).chmod(0o644)  # the library makes files that only their owner may read
    modules = [name.removesuffix(".weight") for name in factors]
    settings = _settings(adapter, rank, modules, any(flipped.values()))
    task = next((word for end, word in TASKS.items() if architecture.endswith(end)), None)
    named = {"base_model_name_or_path": str(base), "task_type": task}
    write_text(folder / CONFIG, json.dumps(settings | named, indent=2) + "\n")


def _settings(adapter: Adapter, rank: int, modules: list[str], flipped: bool) -> dict[str, Any]:
    return {
        "peft_type": "LORA",
        "r": rank,
        "lora_alpha": adapter.scale * rank,
        "lora_dropout": adapter.dropout,
        "target_modules": modules,
        "fan_in_fan_out": flipped,
        "bias": "none",
        "inference_mode": True,
        "init_lora_weights": True,
        "modules_to_save": None,
        "use_rslora": False,
    }


def _down(weight: str) -> str:
    return weight.removesuffix(".weight") + OURS[0]


def _factors(row: Row, trained: Mapping[str, Tensor], shapes: Mapping[str, Tensor]) -> tuple[Tensor, Tensor, bool]:
    """The adapters of the layers that are one module of theirs; and whether theirs has inputs × outputs."""
    layers = [name.removesuffix(".weight") for name in row.ours]
    downs = [trained.get(layer + OURS[0]) for layer in layers]
    rank = sum(len(down) for down in downs if down is not None)
    blocks, place = [], 0
    for layer, down in zip(layers, downs, strict=True):
        block = torch.zeros(shapes[f"{layer}.weight"].shape[0], rank)
        if down is not None:
            block[:, place : place + len(down)] = trained[layer + OURS[1]]
            place += len(down)
        blocks.append(block)
    down = torch.cat([one for one in downs if one is not None])
    # A change moves outputs, and leaves the columns of B as they are.
    whole, up = (row.change.theirs(tuple(parts)) for parts in ([block @ down for block in blocks], blocks))
    for flipped, delta, matrix in ((False, whole, up), (True, whole.T, up.T)):
        if matrix.shape[1] == rank and torch.allclose(delta, matrix @ down, atol=1e-5):
            return down, matrix, flipped
    raise ConfigError(f"--to peft: {row.theirs} stores its inputs in another order; use `regard merge`")
