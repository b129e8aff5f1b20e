"""What a task is: where data, model and score meet. The trainer sees nothing else of either."""

from collections.abc import Iterator
from typing import NamedTuple, Protocol, runtime_checkable

from torch import Tensor


class Loss(NamedTuple):
    """A sum and the number of things summed, so that parts of a batch add up to exactly the whole."""

    total: Tensor
    terms: Tensor


@runtime_checkable
class Batch(Protocol):
    @property
    def size(self) -> int:
        """How much is in it, in the task's unit."""

    @property
    def rows(self) -> int: ...

    def part(self, number: int, parts: int) -> "Batch": ...

    def to(self, device: str) -> "Batch": ...


@runtime_checkable
class Batches(Protocol):
    fixed_shape: bool  # True: every batch has the same shape, which compiled code likes

    @property
    def steps_per_epoch(self) -> int: ...

    def batch(self, step: int) -> Batch: ...

    def once(self) -> Iterator[Batch]: ...
