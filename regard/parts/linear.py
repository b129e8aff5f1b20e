"""Linear maps that can be packed, which makes the small steps of decoding faster (`regard.parts.packed`)."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from regard.parts.packed import PackedMatrix, check_precision, multiply, pack_matrix

WORTH_PACKING = 2**17  # numbers in a matrix: smaller ones are quicker as they are


class Packable:
    """A module that multiplies with one matrix."""

    packed: PackedMatrix | None = None

    def matrix(self) -> Tensor:
        raise NotImplementedError("abstract: what is to be packed")

    def multiply(self, x: Tensor, bias: Tensor | None) -> Tensor:
        packed = self.packed
        if packed is None or torch.is_grad_enabled() or x.numel() > packed.max_rows * x.shape[-1]:
            return multiply(x, self.matrix(), bias)
        return packed.multiply(x, bias)


class LayerAdapter(nn.Module):
    """What an adapter adds to one linear layer (`regard.parts.adapter`)."""

    __call__: Callable[..., Tensor]

    def forward(self, x: Tensor) -> Tensor:
        """What is added to the output of the layer."""
        raise NotImplementedError("abstract: what is added to the output")

    def delta(self) -> Tensor:
        """What is added to the weight of the layer where the adapter is merged: as much, for every input."""
        raise NotImplementedError("abstract: what is added to the weight")


class Linear(nn.Linear, Packable):
    __call__: Callable[..., Tensor]
    adapter: LayerAdapter | None

    def __init__(self, in_features: int, out_features: int, bias: bool = True):
        super().__init__(in_features, out_features, bias)
        self.register_module("adapter", None)

    def forward(self, x: Tensor) -> Tensor:
        output = self.multiply(x, self.bias)
        return output if self.adapter is None else output + self.adapter(x)

    def matrix(self) -> Tensor:
        return self.weight


def pack(model: nn.Module, precision: str, rows: int = 1) -> list[Packable]:
    """Pack the large matrices for steps of about `rows` rows, in place; the parts that this changed.

    The weights themselves stay as they are, beside the packed copies.
    """
    check_precision(precision)
    parts: list[Packable] = [part for part in model.modules() if isinstance(part, Packable) and _worth_packing(part)]
    for part in parts:
        part.packed = pack_matrix(part.matrix().detach(), precision, rows)
    return parts


@contextmanager
def packing(model: nn.Module, rows: int) -> Iterator[None]:
    """While this lasts, steps of about `rows` rows are faster. The packed copies go when it ends."""
    parts = pack(model, "float32", rows)
    try:
        yield
    finally:
        for part in parts:
            part.packed = None


def _worth_packing(part: Packable) -> bool:
    matrix = part.matrix()
    large = matrix.numel() >= WORTH_PACKING and matrix.dtype == torch.float32 and matrix.device.type == "cpu"
    return large and part.packed is None
