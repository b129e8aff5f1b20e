"""LoRA adapters as PEFT stores them: two thin matrices for some layers of a base model (Hu et al., 2022).

An adapter is added to the weights of its base while they are read, W + s·B·A, so that every family can have one and
nothing is slower for it.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from torch import Tensor

from regard.core.errors import ConfigError, UserError
from regard.interop.folder import Stored, Weights, has_file, listed, open_weights, read_json
from regard.interop.settings import Settings

CONFIG, PREFIX = "adapter_config.json", "base_model.model."
DOWN, UP = ".lora_A.weight", ".lora_B.weight"
NAMES = ("adapter_model.safetensors", "adapter_model.bin")


@dataclass(frozen=True)
class Adapter:
    """What is added to each matrix of the base, by the name of its module."""

    base: str  # folder or name of the base model
    matrices: Mapping[str, tuple[Tensor, Tensor]]  # A (rank × inputs) and B (outputs × rank)
    alpha: float
    rank_stabilised: bool  # scaled by the root of the rank (Kalajdzievski, 2023)
    transposed: bool  # the base keeps its matrices as inputs × outputs

    def merged(self, weights: Weights, folder: Path) -> Weights:
        """The weights of the base with the adapter added as they are read."""
        stored = dict(weights.stored)
        if lost := [module for module in self.matrices if f"{module}.weight" not in stored]:
            raise UserError(f"{folder}: the base model {self.base} has no {listed(lost)}")
        for module in self.matrices:
            name = f"{module}.weight"
            rows = self.shape(module)
            if stored[name].shape != rows:
                raise UserError(f"{folder}: {module} has {rows}, the base model {stored[name].shape}")
            stored[name] = Stored(rows, stored[name].path, partial(self._added, weights, module))
        return Weights(stored)

    def shape(self, module: str) -> tuple[int, int]:
        down, up = self.matrices[module]
        return (down.shape[1], up.shape[0]) if self.transposed else (up.shape[0], down.shape[1])

    def _added(self, weights: Weights, module: str) -> Tensor:
        down, up = (matrix.float() for matrix in self.matrices[module])
        rank = down.shape[0]
        scale = self.alpha / (math.sqrt(rank) if self.rank_stabilised else rank)
        delta = up @ down * scale
        return weights.read(f"{module}.weight").float() + (delta.T if self.transposed else delta)


def read_adapter(folder: Path) -> Adapter:
    """The adapter of a folder that PEFT wrote."""
    file = Settings(read_json(folder, CONFIG), str(folder / CONFIG))
    file.choice("peft_type", {"LORA": None}, "")
    for key in ("use_dora", "use_qalora", "lora_bias", "alora_invocation_tokens", "rank_pattern", "alpha_pattern"):
        file.only(key, False, None, {})
    file.only("bias", "none")
    file.only("modules_to_save", None, [])
    base = file.data.get("base_model_name_or_path")
    if not isinstance(base, str) or not base:
        raise ConfigError(f"{file.where}: base_model_name_or_path names no base model")
    return Adapter(
        base=base,
        matrices=_matrices(folder),
        alpha=file.number("lora_alpha", 8.0, low=1e-9, high=1e9),
        rank_stabilised=file.flag("use_rslora", False),
        transposed=file.flag("fan_in_fan_out", False),
    )


def _matrices(folder: Path) -> dict[str, tuple[Tensor, Tensor]]:
    file = next((name for name in NAMES if has_file(folder, name)), None)
    if file is None:
        raise UserError(f"{folder}: holds no weights of an adapter ({' or '.join(NAMES)})")
    with open_weights(folder, file) as weights:
        modules = {name.removesuffix(end) for name in weights for end in (DOWN, UP) if name.endswith(end)}
        if other := [name for name in weights if not name.endswith((DOWN, UP))]:
            raise UserError(f"{folder / file}: {listed(other)}: only lora_A and lora_B of linear layers are read")
        if lost := [
            f"{module}{end}" for module in sorted(modules) for end in (DOWN, UP) if f"{module}{end}" not in weights
        ]:
            raise UserError(f"{folder / file}: {listed(lost)} is missing")
        pairs = {module: (weights.read(module + DOWN), weights.read(module + UP)) for module in sorted(modules)}
    for module, (down, up) in pairs.items():
        if down.dim() != 2 or up.dim() != 2 or down.shape[0] != up.shape[1]:
            raise UserError(f"{folder / file}: {module} has matrices that do not fit each other")
    return {module.removeprefix(PREFIX): matrices for module, matrices in pairs.items()}
