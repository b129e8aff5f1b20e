"""Matrices for one token of each of several texts: products of matrices, in the order that oneDNN reads fastest.

With several tokens the time is that of the arithmetic too, for which a library beats compiled sums. The compiler takes
care of all that is between the products.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from regard.parts.linear import Linear
from regard.parts.packed import BFloat16, Int8, OneDNN, fast_bfloat16

OPERATORS = torch.library.Library("regard", "DEF")  # of the compiled steps
OPERATORS.define("multiply(Tensor x, Tensor matrix) -> Tensor")
ROWS = 8


@torch.library.impl(OPERATORS, "multiply", "CompositeExplicitAutograd")
def multiply(x: Tensor, matrix: Tensor) -> Tensor:
    """The compiler would put a matrix that it does not know in another order, at every step: this one is in it."""
    product: Tensor = torch.ops.mkldnn._linear_pointwise(x, matrix, None, "none", [], "")
    return product


@torch.library.impl(OPERATORS, "multiply", "Meta")
def _multiply_shape(x: Tensor, matrix: Tensor) -> Tensor:
    empty: Tensor = x.new_empty(*x.shape[:-1], matrix.shape[0])
    return empty


class Multiplied(nn.Module):
    """A linear layer for one token of each text. The matrix is as it was; a compiled step is given the packed one."""

    __call__: Callable[..., Tensor]
    matrix: Tensor
    bias: Tensor | None

    def __init__(self, layer: Linear, precision: str):
        super().__init__()
        dtype = torch.bfloat16 if _in_bfloat16(precision) else torch.float32
        self.register_buffer("matrix", layer.weight.detach().to(dtype))
        self.register_buffer("bias", layer.bias)

    def forward(self, x: Tensor) -> Tensor:
        product: Tensor = torch.ops.regard.multiply(x.to(self.matrix.dtype), self.matrix).to(x.dtype)
        return product if self.bias is None else product + self.bias


def packed_matrix(layer: Linear, precision: str) -> Tensor:
    """The one that the layer has already, or a new one."""
    packed = layer.packed.many if isinstance(layer.packed, Int8) else layer.packed
    kind = BFloat16 if _in_bfloat16(precision) else OneDNN
    if not isinstance(packed, kind):
        weight = layer.weight.detach()
        packed = OneDNN(weight, ROWS) if kind is OneDNN else BFloat16(weight)
    return packed.matrix


def _in_bfloat16(precision: str) -> bool:
    """Whole numbers of eight bits would be slower."""
    return precision != "float32" and fast_bfloat16()
