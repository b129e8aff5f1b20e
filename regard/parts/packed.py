"""Packed matrices: weights as the processor reads them fastest, for the many small steps of decoding.

A step of decoding multiplies a few rows with every matrix of the model, and takes about as long as it takes to read the
weights from memory: half the bytes can be up to twice the speed. Many rows at once, as of a prompt, are bound by
arithmetic instead, which is faster in bfloat16 where the processor has instructions for it, and in float32 elsewhere.
"""

from typing import Literal, get_args

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.core.errors import ConfigError, did_you_mean
from regard.core.machine import mkl_is_slow

Precision = Literal["float32", "bfloat16", "int8"]
FEW = 4  # rows: up to so many, a step waits for memory and not for arithmetic
ANY = 2**31  # rows
WORTH_ONEDNN = 2**20  # multiplications: of fewer, preparing oneDNN takes longer than it saves


def multiply(x: Tensor, matrix: Tensor, bias: Tensor | None) -> Tensor:
    """`F.linear`, by the faster one of torch's two libraries: MKL is made for Intel's processors."""
    if _onednn_is_faster(x, matrix):
        product: Tensor = torch.ops.mkldnn._linear_pointwise(x, matrix, bias, "none", [], "")
        return product
    return F.linear(x, matrix, bias)


def _onednn_is_faster(x: Tensor, matrix: Tensor) -> bool:
    if torch.compiler.is_compiling() or torch.is_grad_enabled() or torch.is_autocast_enabled("cpu"):
        return False
    plain = x.dtype == matrix.dtype == torch.float32 and x.device.type == "cpu"
    return plain and x.numel() * len(matrix) >= WORTH_ONEDNN and mkl_is_slow()


class OneDNN:
    """Float32, in the order of oneDNN: large matrices take between a fifth and three quarters of the time."""

    max_rows = ANY  # more are multiplied faster with the matrix as it is

    def __init__(self, matrix: Tensor, rows: int):
        self.matrix = torch.ops.mkldnn._reorder_linear_weight(matrix, rows)

    def multiply(self, x: Tensor, bias: Tensor | None) -> Tensor:
        product: Tensor = torch.ops.mkldnn._linear_pointwise(x, self.matrix, bias, "none", [], "")
        return product


class BFloat16:
    """Half the bytes, with the range of float32 and eight bits of precision."""

    def __init__(self, matrix: Tensor):
        # Without instructions for bfloat16, products of several rows are emulated.
        self.fast = fast_bfloat16()
        self.max_rows = ANY if self.fast else 1
        self.matrix = matrix.bfloat16()
        if self.fast:
            self.matrix = torch.ops.mkldnn._reorder_linear_weight(self.matrix, FEW)

    def multiply(self, x: Tensor, bias: Tensor | None) -> Tensor:
        rows = x.bfloat16()
        product: Tensor
        if self.fast:
            product = torch.ops.mkldnn._linear_pointwise(rows, self.matrix, None, "none", [], "")
        else:
            product = F.linear(rows, self.matrix)
        return _with_bias(product.to(x.dtype), bias)


class Int8:
    """A quarter of the bytes: whole numbers from -127 to 127, with a scale for each output (Dettmers et al., 2022)."""

    def __init__(self, matrix: Tensor):
        largest = matrix.abs().amax(1).clamp(min=1e-12)
        # The kernel takes scales in bfloat16. Weights are rounded by that scale, so that its rounding costs nothing.
        self.scales = (largest / 127).bfloat16()
        rounded = (matrix / self.scales.float()[:, None]).round()
        self.matrix = rounded.clamp(-127, 127).to(torch.int8)
        self.many = BFloat16(matrix) if fast_bfloat16() else None
        self.max_rows = FEW if self.many is None else ANY

    def multiply(self, x: Tensor, bias: Tensor | None) -> Tensor:
        if self.many is not None and x.numel() > FEW * x.shape[-1]:
            return self.many.multiply(x, bias)
        rows = x.reshape(-1, x.shape[-1]).bfloat16()
        product = torch._weight_int8pack_mm(rows, self.matrix, self.scales).to(x.dtype)
        return _with_bias(product.view(*x.shape[:-1], -1), bias)


def _with_bias(product: Tensor, bias: Tensor | None) -> Tensor:
    """In place: of the scores of a large vocabulary, new memory would take longer than the sum."""
    return product if bias is None else product.add_(bias)


PackedMatrix = OneDNN | BFloat16 | Int8


def fast_bfloat16() -> bool:
    return torch.backends.mkldnn.is_available() and torch.cpu._is_avx512_bf16_supported()


def check_precision(precision: str) -> None:
    if precision not in get_args(Precision):
        raise ConfigError(f"precision {precision!r}: {did_you_mean(precision, get_args(Precision))}")


def pack_matrix(matrix: Tensor, precision: str, rows: int) -> PackedMatrix | None:
    """None where the processor has no faster form of it."""
    if precision == "bfloat16":
        return BFloat16(matrix)
    if precision == "int8":
        return Int8(matrix)
    return OneDNN(matrix, rows) if torch.backends.mkldnn.is_available() else None
