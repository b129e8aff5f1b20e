"""Caches of graphs: the keys and values that were read before are inputs, and all of them are outputs."""

from collections.abc import Sequence

import torch
from torch import Tensor

from regard.export.graphs.base import SIZES, Input
from regard.parts.cache import Cache, KVCache


class GivenKeys(KVCache):
    """Keys and values of one attention, given as tensors; what is appended makes new ones."""

    def __init__(self, keys: Tensor, values: Tensor):
        super().__init__()
        self.keys, self.values = keys, values
        self.length = keys.shape[2]

    def append(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        self.keys, self.values = torch.cat([self.keys, keys], 2), torch.cat([self.values, values], 2)
        return self.keys, self.values

    def stored(self) -> tuple[Tensor, Tensor]:
        return self.keys, self.values


class GivenCache(Cache):
    """One pair of tensors a layer; `memory` holds those of cross-attention."""

    def __init__(self, past: Sequence[Tensor], memory: Sequence[Tensor] = (), last: Tensor | None = None):
        super().__init__(0)
        self.layers = [GivenKeys(*past[at : at + 2]) for at in range(0, len(past), 2)]
        self.memory = [GivenKeys(*memory[at : at + 2]) for at in range(0, len(memory), 2)] or [KVCache(1)] * len(
            self.layers
        )
        self.last = last

    @property
    def present(self) -> tuple[Tensor, ...]:
        return tuple(each for layer in self.layers for each in layer.stored())


def past_inputs(layers: int, heads: int, size: int, prefix: str = "", axis: str = "past") -> dict[str, Input]:
    """Inputs for the caches of so many layers, named as other runtimes expect them."""
    shape = SIZES["batch"], heads, SIZES[axis], size
    return {  # each with a tensor of its own: one that is given twice would be traced as one input
        f"past_key_values.{layer}.{prefix}{part}": Input(torch.zeros(shape), {0: "batch", 2: axis})
        for layer in range(layers)
        for part in ("key", "value")
    }


def carried_inputs(parts: Sequence[str], layers: int, width: int) -> dict[str, Input]:
    """Inputs for what a recurrent network carries along."""
    return {f"past.{part}": Input(torch.zeros(layers, SIZES["batch"], width), {1: "batch"}) for part in parts}


def present_outputs(layers: int, prefix: str = "") -> list[str]:
    return [f"present.{layer}.{prefix}{part}" for layer in range(layers) for part in ("key", "value")]
