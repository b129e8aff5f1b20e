"""sample_weight as row counts: a row of weight two is repeated, one of weight zero is dropped."""

from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from regard.core.errors import ConfigError

MAX_REPEATS = 8  # total rows over original rows; beyond, integer weights are treated as relative
MANY_ROWS = 3000  # that weights other than counts make of fewer rows: more would take time
LARGE_REPEATS = 2  # total rows over original rows, where that is more
ROW_COST = 0.02  # of as many rows again, in misplaced weight
SCALES = 200  # that are tried
MAX_WEIGHTS = 1000  # that scales are compared on
SAME = 1e-9  # relative difference of equal numbers


def repeat_rows(count: int, sample_weight: Any, seed: int) -> Tensor:
    """The indices of the rows to learn from.

    Small integer weights are counts. Others are relative: rows are repeated until the counts are nearly in proportion,
    and the rest is rounded so that the counts of rows of similar weight have the right sum.
    """
    if sample_weight is None:
        return torch.arange(count)
    weights = _checked(count, sample_weight)
    integer = bool((weights == weights.round()).all() and weights.max() < 2**31)
    if integer and weights.sum() > MAX_REPEATS * count:  # weights of 100 and 200 mean the same as 1 and 2
        weights = weights / np.gcd.reduce(weights.astype(np.int64))
        integer = weights.sum() <= MAX_REPEATS * count
    times = weights.astype(np.int64) if integer else _round(_in_rows(weights), seed)
    if not times.any():
        times[int(weights.argmax())] = 1
    return torch.from_numpy(np.repeat(np.arange(count), times))


def _checked(count: int, sample_weight: Any) -> Float[np.ndarray, " row"]:
    weights = np.asarray(sample_weight, dtype=np.float64)
    weights = np.full(count, weights) if weights.ndim == 0 else weights
    if weights.shape != (count,):
        raise ConfigError(f"sample_weight: has the shape {weights.shape}, not one weight for each of {count} rows")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ConfigError("sample_weight: holds a negative or an infinite weight")
    if not weights.any():
        raise ConfigError("sample_weight: every weight is zero, so no row is left to learn from")
    return weights


def _in_rows(weights: Float[np.ndarray, " row"]) -> Float[np.ndarray, " row"]:
    """The weights, scaled so that they are nearly whole and their sum is the number of rows to learn from."""
    count = len(weights)
    most = min(MAX_REPEATS, max(LARGE_REPEATS, MANY_ROWS / count))
    relative = weights / weights.max()  # dividing by the sum of tiny weights would overflow
    relative = relative * (count / relative.sum())
    some = np.sort(relative)[np.linspace(0, count - 1, min(count, MAX_WEIGHTS)).round().astype(int)]
    scales = np.linspace(1.0, most, SCALES)
    positive = some[some > SAME]
    whole = np.arange(1, MAX_REPEATS + 1) / np.quantile(positive, [0.0, 0.5, 1.0], method="nearest")[:, None]
    scales = np.unique(np.concatenate([scales, whole[(whole >= 1 - SAME) & (whole <= most)]]))
    expected = scales[:, None] * some
    misplaced = np.abs(expected - expected.round()).sum(1) / expected.sum(1)
    return relative * scales[(misplaced + ROW_COST * scales).argmin()]


def _round(expected: Float[np.ndarray, " row"], seed: int) -> np.ndarray:
    """Whole numbers: the fractions are rounded up and down at random, with the right sum among similar rows."""
    nearest = expected.round()
    expected = np.where(np.abs(expected - nearest) <= SAME * np.maximum(nearest, 1), nearest, expected)
    times = np.floor(expected)
    rng = np.random.default_rng(seed)
    order = np.lexsort((rng.random(len(expected)), expected))
    # Systematic sampling: one row more wherever the sum of the fractions passes a whole number.
    passed = np.floor(np.cumsum((expected - times)[order]) + rng.random())
    times[order] += np.diff(passed, prepend=0.0)
    return times.astype(np.int64)
