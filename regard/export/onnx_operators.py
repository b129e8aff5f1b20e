"""ONNX for operators of the closed forms of tables that the exporter does not translate."""

from collections.abc import Callable
from typing import Any

import torch
from onnxscript import opset20

op: Any = opset20  # its annotations do not know that lists become constants


def searchsorted(
    sorted_sequence: Any,
    values: Any,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Any = None,
) -> Any:
    """How many of the sorted numbers lie below each value; with `right`, below or equal: they are counted."""
    known = op.Unsqueeze(sorted_sequence, [-2]) if len(sorted_sequence.shape) > 1 else sorted_sequence
    sought = op.Unsqueeze(values, [-1])
    counted = op.LessOrEqual(known, sought) if right or side == "right" else op.Less(known, sought)
    return op.ReduceSum(op.Cast(counted, to=7), [-1], keepdims=0)  # 7: int64


def manhattan_distances(rows: Any, others: Any, p: float = 2.0, compute_mode: int | None = None) -> Any:
    """`torch.cdist` with p=1."""
    assert p == 1, "the closed forms of tables use no other"
    differences = op.Sub(op.Unsqueeze(rows, [-2]), op.Unsqueeze(others, [-3]))
    return op.ReduceSum(op.Abs(differences), [-1], keepdims=0)


TRANSLATIONS: dict[Callable[..., Any], Callable[..., Any]] = {
    torch.ops.aten.searchsorted.Tensor: searchsorted,
    torch.ops.aten._cdist_forward.default: manhattan_distances,
    torch.ops.aten.cdist.default: manhattan_distances,
}
