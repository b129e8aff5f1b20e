"""A table as tensors: the encoded cells, which columns are categories, and one target."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.closed_form.copies import Copies


@dataclass(frozen=True)
class EncodedTable:
    values: Float[Tensor, "row column"]  # numbers, or codes of categories; NaN where missing
    category: Bool[Tensor, " column"]
    target: Float[Tensor, " row"]  # the index of a class, or a number
    classes: int  # 0: regression
    source: Int[Tensor, " row"] | None = None  # rows with the same one are copies, made by weights; None: no row is one

    def take(self, rows: Tensor) -> "EncodedTable":
        """Some of the rows."""
        source = None if self.source is None else self.source[rows]
        return replace(self, values=self.values[rows], target=self.target[rows], source=source)

    def copies(self, rows: Tensor | None = None) -> Copies | None:
        """Which rows, among all or some, are copies of each other; None if none are."""
        return Copies.of(self.source if self.source is None or rows is None else self.source[rows])


def source_of(rows: Int[Tensor, " row"]) -> Int[Tensor, " row"] | None:
    """What tells copies in a table with these row numbers; None if there are no copies."""
    return None if Copies.of(rows) is None else rows


def join(tables: Sequence[EncodedTable]) -> EncodedTable:
    """The rows of several tables of the same columns and target; of tables with copies, they are of one table."""
    values, target = torch.cat([each.values for each in tables]), torch.cat([each.target for each in tables])
    source = join_sources([(each.source, len(each.target)) for each in tables])
    return replace(tables[0], values=values, target=target, source=source)


def join_sources(parts: Sequence[tuple[Tensor | None, int]]) -> Int[Tensor, " row"] | None:
    """The sources of so many rows each; those without copies get numbers that no other row has."""
    known = [source for source, count in parts if source is not None and count]
    if not known:
        return None
    free, joined = max(int(source.max()) for source in known) + 1, []
    for source, count in parts:
        joined.append(torch.arange(free, free + count) if source is None else source)
        free += count
    return torch.cat(joined)
