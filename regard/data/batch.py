"""A batch as a dataclass of tensors, which can be sharded and moved to a device as one."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar, runtime_checkable

from torch import Tensor

BatchT = TypeVar("BatchT", bound="TensorBatch")


@runtime_checkable
class Mappable(Protocol):
    """Something made of tensors, such as positions in a tree."""

    def each(self, change: Callable[[Tensor], Tensor]) -> Any:
        """The same with every tensor changed."""


@dataclass(frozen=True)
class TensorBatch:
    """The first axis of every tensor counts the rows; other values apply to all rows."""

    def shard(self: BatchT, index: int, count: int) -> BatchT:
        return self._each(lambda x: x[index::count])

    def to(self: BatchT, device: str) -> BatchT:
        return self._each(lambda x: x.to(device))

    def _each(self: BatchT, change: Callable[[Tensor], Tensor]) -> BatchT:
        changed: dict[str, Any] = {}
        for name, value in vars(self).items():
            if isinstance(value, Tensor):
                changed[name] = change(value)
            elif isinstance(value, Mappable):
                changed[name] = value.each(change)
        return replace(self, **changed)
