"""A graph: a model as a function of plain tensors, which torch.export traces once for any batch and length."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard.core.errors import UserError, one_line

BATCH, LENGTH, PAST = 2, 3, 4  # of examples: all different, so that no axis is mistaken for another


@dataclass(frozen=True)
class Input:
    example: Tensor
    axes: Mapping[int, str]  # the axes of any size, with their names


@dataclass(frozen=True)
class Graph:
    name: str  # of its file, without the ending
    module: nn.Module  # takes the tensors of `inputs` in order
    inputs: Mapping[str, Input]
    outputs: Sequence[str]

    @property
    def examples(self) -> tuple[Tensor, ...]:
        return tuple(each.example for each in self.inputs.values())

    @property
    def axes(self) -> tuple[dict[int, str], ...]:
        return tuple(dict(each.axes) for each in self.inputs.values())


def trace(graph: Graph) -> torch.export.ExportedProgram:
    """The program of a graph. Axes that it must not fix stay free, or the trace fails."""
    shared = torch.export.Dim("batch")
    free = torch.export.Dim.DYNAMIC  # equal or dependent sizes are found by the trace
    shapes = tuple({axis: shared if name == "batch" else free for axis, name in axes.items()} for axes in graph.axes)
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            return torch.export.export(graph.module.eval(), graph.examples, dynamic_shapes=(shapes,))
    except Exception as error:  # the tracer raises errors of many classes
        raise UserError(
            f"{graph.name}: the model cannot be traced for any batch and length ({one_line(error)})"
        ) from error


def tokens(*axes: str) -> Input:
    """Token ids, or anything else that is counted, such as positions."""
    return Input(torch.ones([SIZES[axis] for axis in axes], dtype=torch.long), dict(enumerate(axes)))


SIZES = {"batch": BATCH, "sequence": LENGTH, "past": PAST, "total": LENGTH + PAST, "source": PAST + 1}
