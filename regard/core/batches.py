"""What the training loop needs to know about data and losses, and nothing more: small interfaces."""

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol, runtime_checkable

from torch import Tensor, nn


@runtime_checkable
class Batch(Protocol):
    @property
    def size(self) -> int:
        """How much it holds in the task's unit, such as tokens: for the speed shown during training."""

    @property
    def rows(self) -> int: ...

    def shard(self, index: int, count: int) -> "Batch":
        """Every `count`-th row, starting at row `index`: how ranks and gradient accumulation divide a batch."""

    def to(self, device: str) -> "Batch": ...


@runtime_checkable
class Batches(Protocol):
    fixed_shape: bool  # True: every batch has the same shape, so compiled code is compiled once

    @property
    def steps_per_epoch(self) -> int: ...

    def batch(self, step: int) -> Batch:
        """The training batch of a step. It depends on the step alone, so resuming needs no other state."""

    def once(self) -> Iterator[Batch]:
        """One pass in order, for evaluation."""


class Loss(NamedTuple):
    """A sum and the number of its terms, so that the shards of a batch add up to exactly the whole."""

    total: Tensor
    terms: Tensor


@runtime_checkable
class Objective(Protocol):
    """All that the training loop asks of a task."""

    @property
    def unit(self) -> str:
        """What batches are counted in: tokens, cells, images."""

    def loss(self, model: nn.Module, batch: Any) -> Loss: ...


@runtime_checkable
class CountsErrors(Protocol):
    """An objective whose weights are kept by the errors on the validation data; the loss decides between equals."""

    def loss_and_errors(self, model: nn.Module, batch: Any) -> tuple[Loss, Loss]: ...


@runtime_checkable
class GivesLogits(Protocol):
    """An objective that predicts classes, such as the next token: R-Drop compares two predictions of a batch."""

    def loss_and_logits(self, model: nn.Module, batch: Any) -> tuple[Loss, Tensor]:
        """The logits of every item that counts, (item, class)."""
