"""A table as tensors: the encoded cells, which columns are categories, and one target."""

from dataclasses import dataclass, replace

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
