"""What a task is: where data, model and score meet. The trainer sees nothing else of either."""

from collections.abc import Iterator
from typing import NamedTuple, Protocol, Self

from torch import Tensor, nn


class Loss(NamedTuple):
    """A sum and the number of things summed, so that parts of a batch add up to exactly the whole."""

    total: Tensor
    count: Tensor


class Batch(Protocol):
    @property
    def size(self) -> int:
        """How much is in it, in the task's unit."""

    @property
    def rows(self) -> int: ...

    def part(self, number: int, parts: int) -> Self: ...

    def to(self, device: str) -> Self: ...


class Batches(Protocol):
    fixed_shape: bool  # True: every batch has the same shape, which compiled code likes

    @property
    def steps_per_epoch(self) -> int: ...

    def batch(self, step: int) -> Batch: ...

    def once(self) -> Iterator[Batch]: ...
