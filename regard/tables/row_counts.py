"""Weights of rows: a row that counts twice is there twice, and one that counts nothing is left out."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.core.errors import ConfigError

MOST_TIMES = 8  # as many rows as there were: beyond, counts are shares like other weights


def repeat_rows(count: int, weight: Any, seed: int) -> Tensor:
    """The numbers of the rows to learn from. Small whole weights are counts; others are shares of as many rows as there
    are, rounded up or down by chance."""
    if weight is None:
        return torch.arange(count)
    weights = np.asarray(weight, dtype=np.float64)
    weights = np.full(count, weights) if weights.ndim == 0 else weights
    if weights.shape != (count,):
        raise ConfigError(f"sample_weight: has the shape {weights.shape}, not one weight for each of {count} rows")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ConfigError("sample_weight: holds a negative or an infinite weight")
    if not weights.any():
        raise ConfigError("sample_weight: every weight is zero, so no row is left to learn from")
    whole = bool((weights == weights.round()).all() and weights.max() < 2**31)
    if whole and weights.sum() > MOST_TIMES * count:  # weights of 100 and 200 say no more than 1 and 2
        weights = weights / np.gcd.reduce(weights.astype(np.int64))
        whole = weights.sum() <= MOST_TIMES * count
    parts = weights / weights.max()  # of weights near nothing the sum would divide by it
    shares = weights if whole else parts * (count / parts.sum())
    chance = np.random.default_rng(seed).random(count)
    times = np.floor(shares + (0 if whole else chance)).astype(np.int64)
    if not times.any():
        times[int(weights.argmax())] = 1
    return torch.from_numpy(np.repeat(np.arange(count), times))
