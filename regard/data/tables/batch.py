"""Tables of one shape, side by side: some rows with known targets, and some to be answered."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from jaxtyping import Bool, Float
from torch import Tensor


@dataclass(frozen=True)
class TableBatch:
    values: Float[Tensor, "table row column"]  # numbers, or codes of categories; NaN where missing
    category: Bool[Tensor, "table column"]
    target: Float[Tensor, "table row"]  # the number of a class, or a number; NaN where nothing can be asked
    known: int  # how many of the first rows show their target
    classes: int  # 0: targets are numbers, whose known ones have mean 0 and deviation 1
    codes: Float[Tensor, "table column code"]  # random numbers by which columns are told apart

    @property
    def tables(self) -> int:
        return len(self.values)

    @property
    def cells(self) -> int:
        return self.values.numel()

    def to(self, device: str) -> "TableBatch":
        moved = {name: getattr(self, name).to(device) for name in ("values", "category", "target", "codes")}
        return replace(self, **moved)


@dataclass(frozen=True)
class TableGroups:
    """Several batches of tables, each of a shape of its own: one step of training."""

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
