"""What training asks of data and of a task: batches that can be shared out, and a loss that adds up."""

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol, runtime_checkable

from torch import Tensor, nn


class Loss(NamedTuple):
    """A sum and the number of terms in it, so that the parts of a batch add up to exactly the whole."""

    total: Tensor
    terms: Tensor


@runtime_checkable
class Batch(Protocol):
    @property
    def size(self) -> int:
        """How much it contains, in the task's unit."""

    @property
    def rows(self) -> int: ...

    def part(self, number: int, parts: int) -> "Batch":
        """Every `parts`-th row: how ranks and gradient accumulation share one batch."""

    def to(self, device: str) -> "Batch": ...


@runtime_checkable
class Batches(Protocol):
    fixed_shape: bool  # True: every batch has the same shape, so that compiled code is not compiled again

    @property
    def steps_per_epoch(self) -> int: ...

    def batch(self, step: int) -> Batch:
        """The batch of a step; it depends on the seed and on this number alone."""

    def once(self) -> Iterator[Batch]:
        """One pass over the data, for evaluation."""


@runtime_checkable
class Objective(Protocol):
    """All that the training loop asks of a task."""

    @property
    def unit(self) -> str:
        """What batches are counted in: tokens, cells, images."""

    def loss(self, model: nn.Module, batch: Any) -> Loss: ...
