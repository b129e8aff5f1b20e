"""Linear maps that can be packed, which makes the small steps of decoding faster (`regard.parts.packed`)."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.parts.packed import PackedMatrix, check_precision, pack_matrix

WORTH_PACKING = 2**17  # numbers in a matrix: smaller ones are quicker as they are


class Packable:
    """A module that multiplies with one matrix."""

    packed: PackedMatrix | None = None

    def matrix(self) -> Tensor:
        raise NotImplementedError("abstract: what is to be packed")

    def multiply(self, x: Tensor, bias: Tensor | None) -> Tensor:
        packed = self.packed
        if packed is None or torch.is_grad_enabled() or x.numel() > packed.max_rows * x.shape[-1]:
            return F.linear(x, self.matrix(), bias)
        return packed.multiply(x, bias)


class Linear(nn.Linear, Packable):
    __call__: Callable[..., Tensor]

    def forward(self, x: Tensor) -> Tensor:
        return self.multiply(x, self.bias)

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
