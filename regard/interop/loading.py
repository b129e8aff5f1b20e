"""Models with their weights: from folders of runs and of other libraries, and new ones that start from them."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from regard.core import tensors
from regard.core.errors import ConfigError, UserError
from regard.core.files import read_json, write_text
from regard.core.model import build_model, outline_of
from regard.core.system import release_memory
from regard.interop.base_model import (
    base_folder,
    check_folder,
    describe_base,
    extra_files,
    read_origin,
    tokenizer_of,
)
from regard.interop.folder import FLOATS
from regard.models import Model
from regard.parts.adapter import Adapter, attach, merge
from regard.store import BASE, CONFIG, TOKENIZER, WEIGHTS, read_config
from regard.store.loaded import Loaded, load_model, read_model_config, read_part
from regard.text import Tokenizer

LONGEST_CHAIN = 8  # runs that hold an adapter beside a run that holds an adapter beside …


def load(path: str | Path) -> Loaded:
    """A model with its weights, from a run folder or a Hugging Face folder."""
    path = Path(path)
    return load_run_model(path) if (path / CONFIG).exists() else read_folder(path)


def read_folder(path: Path, dtype: str | torch.dtype | None = None) -> Loaded:
    """The model of another library's folder, or of that name in the Hugging Face cache; of a PEFT folder, its base
    model with the adapter.

    `dtype` is the precision of the weights in memory: None for float32, "auto" for that of the file.
    """
    from regard.interop import huggingface

    path, adapter = base_folder(path)
    check_folder(path)
    imported = huggingface.read(path, precision(dtype), adapter)
    tokenizer, lacks = tokenizer_of(path, imported.config)
    extra = {**imported.extra, **extra_files(path, imported.config)}
    return Loaded(path, imported.config, imported.model, tokenizer, extra | ({"no_tokenizer": lacks} if lacks else {}))


def precision(dtype: str | torch.dtype | None) -> torch.dtype | None:
    """The dtype of that name; None for "auto", as stored."""
    if dtype == "auto":
        return None
    wanted = getattr(torch, dtype, None) if isinstance(dtype, str) else dtype or torch.float32
    if wanted not in FLOATS:
        names = ", ".join(str(kind).removeprefix("torch.") for kind in FLOATS)
        raise ConfigError(f"dtype: must be auto, {names}, not {dtype}")
    return wanted


@dataclass(frozen=True)
class Started:
    model: nn.Module
    sha256: str  # of the weights of the base


def start_model(config: Model, base: Path, adapter: Adapter | None = None) -> Started:
    """A model of this config with the weights of a base; a new head is initialised at random.

    With an adapter, only the adapter and the new head are trained. The base is read once the new model has given up
    the memory that it needs, so that two models are never in memory together.
    """
    theirs = outline_of(describe_base(base).config).state_dict()
    model = build_model(config)
    own = {name: tensor.shape for name, tensor in model.state_dict().items()}
    shared = {name for name in own if name in theirs and own[name] == theirs[name].shape}
    shared = {name for name in shared if not name.startswith(config.head_weights)}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        if name in shared:
            parameter.data = parameter.data.new_empty(0)
    release_memory()
    weights = load(base).model.state_dict()
    _take(model, {name: weights[name] for name in shared})
    digest = tensors.digest(weights) if adapter is not None else ""
    if adapter is not None:
        attach(model, adapter)
        for name, parameter in model.named_parameters():
            parameter.requires_grad_(name not in shared)
    return Started(model, digest)


@torch.no_grad()
def _take(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    for name, parameter in model.named_parameters(remove_duplicate=False):
        if name in weights:
            parameter.data = weights[name]
    for name, buffer in model.named_buffers():
        if name in weights:
            buffer.copy_(weights[name])


# Runs that hold an adapter


def write_base(run: Path, init: str, sha256: str) -> None:
    """Which model the adapter of a run was trained beside: it fits no other."""
    where = {"init": init, "relative": os.path.relpath(init, run) if Path(init).exists() else None}
    write_text(run / BASE, json.dumps({**where, "sha256": sha256}, indent=1) + "\n")


def load_run_model(path: Path) -> Loaded:
    """The model of a run folder. An adapter is added to the weights of its base, so that nothing is slower for it."""
    adapter = read_part(path, Adapter | None, "adapter")
    loaded = load_model(path) if adapter is None else _load_adapted(path, adapter)
    extra = read_origin(path).get("extra", {})
    return Loaded(path, loaded.config, loaded.model, loaded.tokenizer, extra)


def _load_adapted(path: Path, adapter: Adapter) -> Loaded:
    config, trained = read_model_config(path), tensors.load(path / WEIGHTS)
    tensors.check_finite(trained, path / WEIGHTS)
    base, sha256 = find_base(path)
    started = start_model(config, base, adapter)
    if started.sha256 != sha256:
        raise UserError(f"{path}: its adapter was trained beside other weights than those that {base} holds now")
    tensors.load_weights(started.model, trained, path / WEIGHTS)
    merge(started.model)
    started.model.requires_grad_(True)
    own = Tokenizer.load(path / TOKENIZER) if (path / TOKENIZER).exists() else None
    return Loaded(path, config, started.model.eval(), own)


def find_base(path: Path) -> tuple[Path, str]:
    """The base of a run with an adapter, where it was or beside the run as it was, and the digest of its weights."""
    nearest = base, _ = _base_of(path)
    for _ in range(LONGEST_CHAIN):
        if not (base / CONFIG).exists() or read_config(base).get("adapter") is None:
            return nearest
        base, _ = _base_of(base)
    raise UserError(f"{path}: starts from an adapter of an adapter, and so on without end")


def _base_of(path: Path) -> tuple[Path, str]:
    data = read_json(path / BASE)
    init, relative, sha256 = (data.get(key) for key in ("init", "relative", "sha256"))
    if not isinstance(init, str) or not isinstance(sha256, str) or not isinstance(relative, str | None):
        raise UserError(f"{path / BASE}: must name the base model (init) and the digest of its weights (sha256)")
    moved = path / relative if relative else None
    if not Path(init).exists() and moved is not None and moved.exists():
        return moved, sha256
    if Path(init).is_absolute() and not Path(init).exists():
        raise UserError(f"{path}: holds an adapter of {init}, which is not there; put the base model back there")
    return Path(init), sha256
