"""Linear maps that can be packed: laid out as the processor multiplies best, for the many small steps of decoding.

A step of decoding multiplies a few rows with every matrix of the model. Packed by oneDNN, large matrices take between
a fifth and three quarters of the time; the sums are the same but for their order.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch import Tensor, nn

WORTH_PACKING = 2**17  # numbers in a matrix: smaller ones are quicker as they are


class Packable:
    """A module that multiplies with one matrix."""

    packed: Tensor | None = None

    def matrix(self) -> Tensor:
        raise NotImplementedError("abstract: what is to be packed")

    def multiply(self, x: Tensor, bias: Tensor | None) -> Tensor:
        if self.packed is None or torch.is_grad_enabled():
            return F.linear(x, self.matrix(), bias)
        product: Tensor = torch.ops.mkldnn._linear_pointwise(x, self.packed, bias, "none", [], "")
        return product


class Linear(nn.Linear, Packable):
    __call__: Callable[..., Tensor]

    def forward(self, x: Tensor) -> Tensor:
        return self.multiply(x, self.bias)

    def matrix(self) -> Tensor:
        return self.weight


@contextmanager
def packing(model: nn.Module, rows: int) -> Iterator[None]:
    """While this lasts, steps of about `rows` rows are faster. The packed copies go when it ends."""
    large = [part for part in model.modules() if isinstance(part, Packable) and _worth_packing(part.matrix())]
    for part in large if torch.backends.mkldnn.is_available() else []:
        part.packed = torch.ops.mkldnn._reorder_linear_weight(part.matrix().detach(), rows)
    try:
        yield
    finally:
        for part in large:
            part.packed = None


def _worth_packing(matrix: Tensor) -> bool:
    return matrix.numel() >= WORTH_PACKING and matrix.dtype == torch.float32 and matrix.device.type == "cpu"
