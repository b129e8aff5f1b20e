"""The target of a table: classes or numbers as people have them, and as the network counts them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from regard.core.errors import ConfigError
from regard.tables.cells import LARGEST
from regard.tables.frames import as_frame

KNOTS = 512  # points by which a bent scale is kept
MOST_CLASSES = 1000


@dataclass(frozen=True)
class Scale:
    """How numbers are shown to the network: with mean 0 and deviation 1, straight or bent to a bell.

    A bent scale takes each number to where its rank would stand in a normal distribution: the tail of a skewed target
    then no longer outweighs the rest. Between the numbers that were seen it is straight, and beyond them too.
    """

    numbers: Float[Tensor, " knot"]  # rising
    places: Float[Tensor, " knot"]

    @classmethod
    def straight(cls, numbers: Float[Tensor, " row"]) -> "Scale":
        center, spread = numbers.mean(), numbers.std(correction=0)
        if not spread > 1e-9 * center.abs():  # all the same
            spread = center.abs().clamp(min=1.0)
        return cls(torch.stack([center, center + spread]), torch.tensor([0.0, 1.0], dtype=numbers.dtype))

    @classmethod
    def bent(cls, numbers: Float[Tensor, " row"]) -> "Scale":
        distinct, counts = numbers.sort().values.unique_consecutive(return_counts=True)
        if len(distinct) < 3:
            return cls.straight(numbers)
        middle = (counts.cumsum(0) - 0.5 * counts.double()) / counts.sum()
        places = torch.special.ndtri(middle).to(numbers.dtype)
        chosen = torch.linspace(0, len(distinct) - 1, min(KNOTS, len(distinct))).round().long()
        places = (places - places.mean()) / places.std(correction=0)
        return cls(distinct[chosen], places[chosen])

    def show(self, numbers: Tensor) -> Tensor:
        return _along(numbers, self.numbers, self.places)

    def back(self, places: Tensor) -> Tensor:
        return _along(places, self.places, self.numbers)


def _along(x: Tensor, knots: Tensor, heights: Tensor) -> Tensor:
    """The broken line through the knots, its first and last piece going on for ever."""
    x = x.to(knots.dtype)
    piece = torch.searchsorted(knots, x.contiguous()).clamp(1, len(knots) - 1)
    left, right = knots[piece - 1], knots[piece]
    share = (x - left) / (right - left)
    return heights[piece - 1] + share * (heights[piece] - heights[piece - 1])


@dataclass(frozen=True)
class Classes:
    """Labels of any kind by their number, in sorted order."""

    labels: np.ndarray

    @classmethod
    def learn(cls, y: np.ndarray) -> tuple["Classes", Float[Tensor, " row"]]:
        try:
            labels, codes = np.unique(y, return_inverse=True)
        except TypeError:  # texts and numbers have no common order
            kinds = sorted({type(label).__name__ for label in y})
            raise ConfigError(f"y: mixes labels of several kinds ({', '.join(kinds)}); write all as text") from None
        if len(labels) > MOST_CLASSES:
            raise ConfigError(
                f"y: has {len(labels):,} classes, more than the {MOST_CLASSES:,} that can be told apart; if they are "
                "numbers, NPTRegressor is for them"
            )
        return cls(labels), torch.from_numpy(codes.reshape(-1)).float()


def target_columns(y: Any) -> list[np.ndarray]:
    """The targets, one or several, every one of them known."""
    from sklearn.utils.validation import column_or_1d  # here: whoever only shares a plan with tables need not wait

    if y is None:
        raise ConfigError("requires y to be passed, but the target y is None")
    if hasattr(y, "columns"):  # a frame, whose columns may be of several types
        y = as_frame(y)
    array = y.to_numpy() if isinstance(y, pd.Series | pd.DataFrame) else np.asarray(y)
    columns = [column_or_1d(array, warn=True)] if array.ndim != 2 or array.shape[1] < 2 else list(array.T)
    if isinstance(y, pd.DataFrame) and len(columns) > 1:
        columns = [y.iloc[:, place].to_numpy() for place in range(y.shape[1])]
    for column in columns:
        missing = np.flatnonzero(pd.isna(column))
        if len(missing):
            told = f"row {missing[0]} (counted from 0) has no target; leave out rows whose target is not known"
            raise ConfigError(f"Input y contains NaN: {told}")
    return columns


def target_names(y: Any, count: int) -> list[str | None]:
    """The names of so many targets, where they come with some."""
    names = getattr(y, "columns", None)
    names = [getattr(y, "name", None)] if names is None else list(names)
    names = [name if isinstance(name, str) and name else None for name in names]
    return names if len(names) == count else [None] * count


def numbers_of(column: np.ndarray) -> Float[Tensor, " row"]:
    if column.dtype.kind in "mM":
        raise ConfigError("y: holds dates or spans of time; turn them into numbers, such as days")
    try:
        numbers = np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        wrong = column[pd.to_numeric(pd.Series(column, dtype=object), errors="coerce").isna().argmax()]
        raise ConfigError(f"y: {str(wrong)[:80]!r} is not a number; NPTClassifier is for classes") from None
    far = np.flatnonzero(~(np.abs(numbers) <= LARGEST))
    if len(far):
        told = f"row {far[0]} (counted from 0) is {numbers[far[0]]:g}"
        raise ConfigError(f"Input y contains infinity or a value too large for 32 bits: {told}")
    return torch.from_numpy(numbers.copy())
