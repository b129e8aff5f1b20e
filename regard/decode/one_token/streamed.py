"""Matrices for one token at a time, written as sums that a compiler turns into a single pass over the weights.

With one token a matrix is multiplied with one vector, and the time is that of reading the matrix from memory. Written
as a product and a sum, such a multiplication is fused with its neighbours: norms, activations and residuals are
computed while the next weights arrive, and all layers of a block become two loops over the threads.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.parts.linear import Linear
from regard.parts.packed import Int8

LANES = 4  # weights of one byte in a whole number of 32 bits


class Streamed(nn.Module):
    """A linear layer for one token."""

    __call__: Callable[..., Tensor]
    matrix: Tensor
    bias: Tensor | None

    def __init__(self, matrix: Tensor, bias: Tensor | None):
        super().__init__()
        self.register_buffer("matrix", matrix)
        self.register_buffer("bias", bias)

    def forward(self, x: Float[Tensor, "*one input"]) -> Float[Tensor, "*one output"]:
        product = self.product(x.reshape(x.shape[-1]))
        return (product if self.bias is None else product + self.bias).view(*x.shape[:-1], -1)

    def product(self, x: Float[Tensor, " input"]) -> Float[Tensor, " output"]:
        raise NotImplementedError("abstract: how weights meet the input")


class StreamedFloat32(Streamed):
    def __init__(self, layer: Linear):
        super().__init__(layer.weight, layer.bias)

    def product(self, x: Float[Tensor, " input"]) -> Float[Tensor, " output"]:
        return (self.matrix * x).sum(-1)


class StreamedBFloat16(Streamed):
    """Two weights in each whole number of 32 bits: the first half of a row in the lower bits of each."""

    def __init__(self, layer: Linear):
        halves = layer.weight.bfloat16().view(torch.int16).int().unflatten(1, (2, -1))
        super().__init__((halves[:, 0] & 0xFFFF) | (halves[:, 1] << 16), layer.bias)

    def product(self, x: Float[Tensor, " input"]) -> Float[Tensor, " output"]:
        low, high = x.unflatten(0, (2, -1))
        first, second = (self.matrix << 16).view(torch.float32), (self.matrix & -65536).view(torch.float32)
        total: Tensor = (first * low + second * high).sum(-1)
        return total


class StreamedInt8(Streamed):
    """Four weights in each whole number of 32 bits, which processors convert to floating point faster than bytes.

    The first quarter of a row is in the lowest bytes and the last quarter in the highest, so that each byte of a run
    of numbers meets a run of the input.
    """

    scales: Tensor

    def __init__(self, layer: Linear):
        packed = Int8(layer.weight)
        quarters = packed.matrix.int().unflatten(1, (LANES, -1))
        shifts = torch.arange(0, 32, 8, dtype=torch.int32, device=quarters.device)
        lanes = ((quarters & 255) << shifts[:, None]).sum(1, dtype=torch.int32)
        super().__init__(lanes, layer.bias)
        self.register_buffer("scales", packed.scales.float())

    def product(self, x: Float[Tensor, " input"]) -> Float[Tensor, " output"]:
        parts = x.unflatten(0, (LANES, -1))
        lanes = ((self.matrix << (24 - 8 * lane)) >> 24 for lane in range(LANES))  # the sign comes with the highest bit
        terms = [lane.float() * part for lane, part in zip(lanes, parts, strict=True)]
        total: Tensor = (terms[0] + terms[1] + (terms[2] + terms[3])).sum(-1)
        return total * self.scales


KINDS: dict[str, Callable[[Linear], Streamed]] = {
    "float32": StreamedFloat32,
    "bfloat16": StreamedBFloat16,
    "int8": StreamedInt8,
}


def streamed(layer: Linear, precision: str) -> Streamed:
    lanes = {"int8": 4, "bfloat16": 2}.get(precision, 1)
    return KINDS["float32" if layer.in_features % lanes else precision](layer)
