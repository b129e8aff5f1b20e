"""The target of a table: classes or numbers as the user has them, and as the network reads them."""

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from regard.core.errors import ConfigError
from regard.tables.encode.cells import LARGEST
from regard.tables.encode.frames import as_frame

KNOTS = 512  # of a quantile transform
TAIL_POINTS = 8  # of each tail beyond the outermost quantiles
MAX_CLASSES = 1000


@dataclass(frozen=True)
class TargetTransform:
    """A monotone map of numeric targets to mean 0 and standard deviation 1: standardisation or a quantile transform.

    The quantile transform maps ranks to a normal distribution, so that the tail of a skewed target does not dominate.
    It is linear between the observed numbers and beyond them.
    """

    numbers: Float[Tensor, " knot"]  # ascending
    scores: Float[Tensor, " knot"]

    @classmethod
    def standardise(cls, numbers: Float[Tensor, " row"]) -> "TargetTransform":
        mean, std = numbers.mean(), numbers.std(correction=0)
        if not std > 1e-9 * mean.abs():  # constant
            std = mean.abs().clamp(min=1.0)
        return cls(torch.stack([mean, mean + std]), torch.tensor([0.0, 1.0], dtype=numbers.dtype))

    @classmethod
    def quantile(cls, numbers: Float[Tensor, " row"]) -> "TargetTransform":
        distinct, counts = numbers.sort().values.unique_consecutive(return_counts=True)
        if len(distinct) < 3:
            return cls.standardise(numbers)
        rank = (counts.cumsum(0) - 0.5 * counts.double()) / counts.sum()
        scores = torch.special.ndtri(rank).to(numbers.dtype)
        knots = torch.linspace(0, len(distinct) - 1, min(KNOTS, len(distinct))).round().long()
        scores = (scores - scores.mean()) / scores.std(correction=0)
        return cls(distinct[knots], scores[knots])

    @property
    def is_linear(self) -> bool:
        return len(self.numbers) == 2

    def forward(self, numbers: Tensor) -> Tensor:
        return _interpolate(numbers, self.numbers, self.scores)

    def inverse(self, scores: Tensor) -> Tensor:
        return _interpolate(scores, self.scores, self.numbers)

    def mean(self, quantiles: Float[Tensor, "row quantile"]) -> Float[Tensor, "row one"]:
        """The mean number, from evenly spaced quantiles of the score in ascending order.

        A few quantiles leave out the tails, where much of the sum of a skewed target is. Beyond the outermost
        quantiles the score is taken as normally distributed on each side, up to the least and the largest number.
        """
        count = quantiles.shape[1]
        outside = 0.5 / (count + 1)  # probability of each tail; a quantile stands for twice as much
        normal = NormalDist().inv_cdf  # of plain numbers, which are constants of an exported graph
        outermost = normal(2 * outside)
        points = [normal((place + 0.5) * outside / TAIL_POINTS) for place in range(TAIL_POINTS)]
        reach = torch.tensor([point / outermost - 1 for point in points], dtype=quantiles.dtype)
        low, middle, high = quantiles[:, :1], quantiles[:, count // 2, None], quantiles[:, -1:]
        parts = (quantiles, low - (middle - low) * reach, high + (high - middle) * reach)
        means = [self.inverse(part).clamp(self.numbers[0], self.numbers[-1]).mean(1, keepdim=True) for part in parts]
        return means[0] * (1 - 2 * outside) + (means[1] + means[2]) * outside


def _interpolate(x: Tensor, knots: Tensor, heights: Tensor) -> Tensor:
    """Piecewise linear through the knots, extrapolated by the first and the last piece."""
    x = x.to(knots.dtype)
    piece = torch.searchsorted(knots, x.contiguous()).clamp(1, len(knots) - 1)
    left, right = knots[piece - 1], knots[piece]
    weight = (x - left) / (right - left)
    return heights[piece - 1] + weight * (heights[piece] - heights[piece - 1])


@dataclass(frozen=True)
class Classes:
    """Class labels of any type, sorted; their positions are the codes."""

    labels: np.ndarray

    @classmethod
    def fit(cls, y: np.ndarray) -> tuple["Classes", Float[Tensor, " row"]]:
        try:
            labels, codes = np.unique(y, return_inverse=True)
        except TypeError:  # text and numbers have no common order
            types = sorted({type(label).__name__ for label in y})
            raise ConfigError(f"y: mixes labels of several types ({', '.join(types)}); write all as text") from None
        if len(labels) > MAX_CLASSES:
            raise ConfigError(
                f"y: has {len(labels):,} classes, more than the {MAX_CLASSES:,} that are supported; if they are "
                "numbers, use NPTRegressor"
            )
        return cls(labels), torch.from_numpy(codes.reshape(-1)).float()


def target_columns(y: Any) -> list[np.ndarray]:
    """The targets, one or several, without missing values."""
    from sklearn.utils.validation import column_or_1d  # slow to import, and not needed by all who import this module

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
            where = f"row {missing[0]} (counted from 0) has no target; drop rows whose target is unknown"
            raise ConfigError(f"Input y contains NaN: {where}")
    return columns


def target_names(y: Any, count: int) -> list[str | None]:
    """The names of so many targets, None for those without a name."""
    names = getattr(y, "columns", None)
    names = [getattr(y, "name", None)] if names is None else list(names)
    names = [name if isinstance(name, str) and name else None for name in names]
    return names if len(names) == count else [None] * count


def as_numbers(column: np.ndarray) -> Float[Tensor, " row"]:
    """A numeric target."""
    if column.dtype.kind in "mM":
        raise ConfigError("y: holds dates or time differences; convert them to numbers, such as days")
    try:
        numbers = np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        wrong = column[pd.to_numeric(pd.Series(column, dtype=object), errors="coerce").isna().argmax()]
        raise ConfigError(f"y: {str(wrong)[:80]!r} is not a number; use NPTClassifier for classes") from None
    too_large = np.flatnonzero(~(np.abs(numbers) <= LARGEST))
    if len(too_large):
        where = f"row {too_large[0]} (counted from 0) is {numbers[too_large[0]]:g}"
        raise ConfigError(f"Input y contains infinity or a value too large for float32: {where}")
    return torch.from_numpy(numbers.copy())
