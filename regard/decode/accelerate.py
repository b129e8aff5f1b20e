"""Writing faster on this machine: weights of fewer bytes, in the order that is read fastest, and a compiled step."""

import torch
from torch import nn

from regard.decode.one_token import compile_steps
from regard.parts.linear import Packable, pack
from regard.parts.packed import check_precision, fast_bfloat16

AUTO = "auto"
ROWS = 8  # of a step: texts that are written at once


def accelerate(model: nn.Module, precision: str = AUTO, *, wait: bool = False) -> str:
    """Make a model write faster, in place; returns the precision of its weights while it writes.

    "float32" changes the scores by rounding only, "bfloat16" and "int8" by more; "auto" is bfloat16 where the weights
    lose nothing by it. A large decoder is compiled once for each machine: in the background, unless it should `wait`.
    Weights that are changed afterwards are not seen.
    """
    check_choice(precision)
    chosen = usual_precision(model) if precision == AUTO else precision
    pack(model, chosen, ROWS)
    compile_steps(model, chosen, wait=wait)
    return chosen


def check_choice(precision: str) -> None:
    if precision != AUTO:
        check_precision(precision)


def usual_precision(model: nn.Module) -> str:
    """Bfloat16 for weights that were stored in it, if this processor multiplies in it; otherwise float32."""
    if not fast_bfloat16():
        return "float32"
    matrices = [part.matrix().detach() for part in model.modules() if isinstance(part, Packable)]
    exact = bool(matrices) and all(torch.equal(matrix, matrix.bfloat16().to(matrix.dtype)) for matrix in matrices)
    return "bfloat16" if exact else "float32"
