"""A table as tensors: the encoded cells, which columns are categories, and one target."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float
from torch import Tensor


@dataclass(frozen=True)
class EncodedTable:
    values: Float[Tensor, "row column"]  # numbers, or codes of categories; NaN where missing
    category: Bool[Tensor, " column"]
    target: Float[Tensor, " row"]  # the index of a class, or a number
    classes: int  # 0: regression

    def take(self, rows: Tensor) -> "EncodedTable":
        """Some of the rows."""
        return replace(self, values=self.values[rows], target=self.target[rows])


def join(tables: Sequence[EncodedTable]) -> EncodedTable:
    """The rows of several tables of the same columns and target."""
    values, target = torch.cat([each.values for each in tables]), torch.cat([each.target for each in tables])
    return replace(tables[0], values=values, target=target)
