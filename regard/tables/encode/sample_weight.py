"""sample_weight as row counts: a row of weight two is repeated, one of weight zero is dropped."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.core.errors import ConfigError

MAX_REPEATS = 8  # total rows over original rows; beyond, integer weights are treated as relative


def repeat_rows(count: int, sample_weight: Any, seed: int) -> Tensor:
    """The indices of the rows to learn from.

    Small integer weights are counts. Others are relative: as many rows as there are, rounded up or down at random.
    """
    if sample_weight is None:
        return torch.arange(count)
    weights = np.asarray(sample_weight, dtype=np.float64)
    weights = np.full(count, weights) if weights.ndim == 0 else weights
    if weights.shape != (count,):
        raise ConfigError(f"sample_weight: has the shape {weights.shape}, not one weight for each of {count} rows")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ConfigError("sample_weight: holds a negative or an infinite weight")
    if not weights.any():
        raise ConfigError("sample_weight: every weight is zero, so no row is left to learn from")
    integer = bool((weights == weights.round()).all() and weights.max() < 2**31)
    if integer and weights.sum() > MAX_REPEATS * count:  # weights of 100 and 200 mean the same as 1 and 2
        weights = weights / np.gcd.reduce(weights.astype(np.int64))
        integer = weights.sum() <= MAX_REPEATS * count
    relative = weights / weights.max()  # dividing by the sum of tiny weights would overflow
    expected = weights if integer else relative * (count / relative.sum())
    uniform = np.random.default_rng(seed).random(count)
    times = np.floor(expected + (0 if integer else uniform)).astype(np.int64)
    if not times.any():
        times[int(weights.argmax())] = 1
    return torch.from_numpy(np.repeat(np.arange(count), times))
