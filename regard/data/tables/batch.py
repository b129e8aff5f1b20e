"""Batches of tables of one shape: context rows with known targets, then query rows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from jaxtyping import Bool, Float, Int
from torch import Tensor


@dataclass(frozen=True)
class TableBatch:
    values: Float[Tensor, "table row column"]  # numbers, or codes of categories; NaN where missing
    category: Bool[Tensor, "table column"]
    target: Float[Tensor, "table row"]  # the index of a class, or a number; NaN if unknown
    context: int  # number of context rows, which come first
    classes: int  # 0: regression, with mean 0 and standard deviation 1 over the context rows
    column_codes: Float[Tensor, "table column code"]  # random codes that distinguish columns
    source: Int[Tensor, " context"] | None = None  # context rows with the same one are copies of each other

    @property
    def tables(self) -> int:
        return len(self.values)

    @property
    def cells(self) -> int:
        return self.values.numel()

    def to(self, device: str) -> "TableBatch":
        moved = {name: getattr(self, name).to(device) for name in ("values", "category", "target", "column_codes")}
        source = None if self.source is None else self.source.to(device)
        return replace(self, **moved, source=source)


@dataclass(frozen=True)
class TableGroups:
    """Several batches of tables, each of another shape: one training step."""

    groups: Sequence[TableBatch]

    def __iter__(self) -> Iterator[TableBatch]:
        return iter(self.groups)

    @property
    def rows(self) -> int:
        return len(self.groups)

    @property
    def size(self) -> int:
        return sum(group.cells for group in self.groups)

    def shard(self, index: int, count: int) -> "TableGroups":
        return TableGroups(self.groups[index::count])

    def to(self, device: str) -> "TableGroups":
        return TableGroups([group.to(device) for group in self.groups])
