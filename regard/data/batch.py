"""Batches: what a step learns from, and what a trainer may ask of whoever makes them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar, runtime_checkable

from torch import Tensor

from regard.parts.positions import Positions

Kind = TypeVar("Kind", bound="TensorBatch")


@runtime_checkable
class Batch(Protocol):
    @property
    def size(self) -> int:
        """How much is in it, in the task's unit."""

    @property
    def rows(self) -> int: ...

    def part(self, number: int, parts: int) -> "Batch":
        """Every `parts`-th row: how ranks and accumulation share one batch."""

    def to(self, device: str) -> "Batch": ...


@runtime_checkable
class Batches(Protocol):
    fixed_shape: bool  # True: every batch has the same shape, which compiled code likes

    @property
    def steps_per_epoch(self) -> int: ...

    def batch(self, step: int) -> Batch: ...

    def once(self) -> Iterator[Batch]: ...


@dataclass(frozen=True)
class TensorBatch:
    """Fields are tensors whose first axis counts the rows, or places in them; anything else holds for all rows."""

    def part(self: Kind, number: int, parts: int) -> Kind:
        return self._each(lambda x: x[number::parts])

    def to(self: Kind, device: str) -> Kind:
        return self._each(lambda x: x.to(device))

    def _each(self: Kind, change: Callable[[Tensor], Tensor]) -> Kind:
        changed: dict[str, Any] = {}
        for name, value in vars(self).items():
            if isinstance(value, Tensor):
                changed[name] = change(value)
            elif isinstance(value, Positions):
                changed[name] = value.each(change)
        return replace(self, **changed)
