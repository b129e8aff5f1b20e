"""Adapters: small trained parts beside the linear layers of a frozen model.

A kind of adapter is one config and the module that it builds for one layer. Which layers have one, what is trained,
how it is stored and how it is merged is the same for every kind.
"""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.core.config import Config
from regard.core.errors import ConfigError, at_least, share
from regard.core.modules import RepeatedBlock
from regard.parts.dropout import Dropout
from regard.parts.linear import LayerAdapter, Linear

LAYERS = ("query", "key", "value", "out", "gate", "up", "down")


class AdapterConfig(Config):
    @property
    def targets(self) -> tuple[str, ...]:
        """The names of the layers in a block that have an adapter."""
        return LAYERS

    def build(self, inputs: int, outputs: int) -> LayerAdapter:
        raise NotImplementedError("abstract: a config builds the adapter of one layer")


@dataclass(frozen=True)
class LoRA(AdapterConfig):
    """A product of two thin matrices is added to each weight: W + (alpha / rank)·B·A (Hu et al., 2022)."""

    rank: int = 8
    alpha: float | None = None  # None: twice the rank
    dropout: float = 0.0  # of the adapter's input
    layers: tuple[str, ...] = LAYERS  # of a block

    def __post_init__(self) -> None:
        at_least(1, rank=self.rank)
        share(dropout=self.dropout)
        if self.alpha is not None and not 0 < self.alpha < math.inf:
            raise ConfigError(f"alpha: must be more than 0 and finite, not {self.alpha}")
        if unknown := [name for name in self.layers if name not in LAYERS]:
            raise ConfigError(f"layers: {unknown[0]!r} is none of {', '.join(LAYERS)}")

    @property
    def targets(self) -> tuple[str, ...]:
        return self.layers

    @property
    def scale(self) -> float:
        return (2 * self.rank if self.alpha is None else self.alpha) / self.rank

    def build(self, inputs: int, outputs: int) -> "LowRank":
        return LowRank(self, inputs, outputs)


Adapter = LoRA


class LowRank(LayerAdapter):
    def __init__(self, config: LoRA, inputs: int, outputs: int):
        super().__init__()
        self.scale = config.scale
        self.drop = Dropout(config.dropout)
        self.down = nn.Parameter(torch.empty(config.rank, inputs))
        self.up = nn.Parameter(torch.zeros(outputs, config.rank))  # so that training starts from the base as it is
        nn.init.kaiming_uniform_(self.down, a=math.sqrt(5))

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(F.linear(self.drop(x), self.down), self.up) * self.scale

    def delta(self) -> Tensor:
        return self.up @ self.down * self.scale


def attach(model: nn.Module, adapter: Adapter) -> None:
    """Freeze a model, in place, and put an adapter beside each layer that the config names."""
    model.requires_grad_(False)
    layers = adapted_layers(model, adapter.targets)
    if not layers:
        names = ", ".join(adapter.targets)
        raise ConfigError(f"adapter: no block of this model has a layer named {names}; train all of its weights")
    for layer in layers.values():
        layer.adapter = adapter.build(layer.in_features, layer.out_features)


def adapted_layers(model: nn.Module, names: tuple[str, ...]) -> dict[str, Linear]:
    """The linear layers of these names inside blocks, by their paths; one that blocks share comes once."""
    return {
        f"{place}.{name}": layer
        for place, block in model.named_modules()
        if isinstance(block, RepeatedBlock)
        for name, layer in block.named_modules()
        if isinstance(layer, Linear) and name.rpartition(".")[2] in names
    }


@torch.no_grad()
def merge(model: nn.Module) -> None:
    """Add every adapter to the weight of its layer, in place; the outputs stay the same, up to rounding."""
    for layer in model.modules():
        if isinstance(layer, Linear) and layer.adapter is not None:
            layer.weight.add_(layer.adapter.delta())
            layer.adapter = None
