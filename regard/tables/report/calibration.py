"""Calibration on held-out rows: do events occur as often as predicted, and do intervals hold as many numbers?"""

import math

import numpy as np
import torch
from jaxtyping import Bool, Float

from regard.tables.predictor import interpolate_quantiles
from regard.tables.report.results import Coverage, Interval, IntervalCoverage, Reliability, ReliabilityBin

MAX_BINS = 8
MIN_ROWS_OF_BIN = 30
LEVELS = tuple(level / 20 for level in range(1, 20))
INTERVALS = (0.5, 0.8, 0.9)  # probabilities of central intervals
Z = 1.96  # of 95 %


def reliability(event: str, occurred: Bool[np.ndarray, " row"], probability: Float[np.ndarray, " row"]) -> Reliability:
    """Rows in bins of equal size by their probability; rows of the same probability stay together."""
    count = max(1, min(MAX_BINS, len(occurred) // MIN_ROWS_OF_BIN))
    edges = np.unique(np.quantile(probability, np.linspace(0, 1, count + 1)[1:-1]))
    number = np.searchsorted(edges, probability, side="right")
    bins = tuple(
        ReliabilityBin(float(probability[mine].mean()), proportion(occurred[mine]), int(mine.sum()))
        for mine in (number == each for each in np.unique(number))
    )
    error = sum(one.rows * abs(one.predicted - one.observed.value) for one in bins) / len(occurred)
    return Reliability(event, bins, error)


def proportion(occurred: Bool[np.ndarray, " row"]) -> Interval:
    """A fraction of rows with its confidence interval (Wilson, 1927)."""
    rows, value = len(occurred), float(occurred.mean())
    middle = (value + Z**2 / (2 * rows)) / (1 + Z**2 / rows)
    half = Z / (1 + Z**2 / rows) * math.sqrt(value * (1 - value) / rows + Z**2 / (4 * rows**2))
    return Interval(value, min(value, max(0.0, middle - half)), max(value, min(1.0, middle + half)))


def coverage(truth: Float[np.ndarray, " row"], output: Float[np.ndarray, "row prediction"]) -> Coverage:
    """How many numbers lie below predicted quantiles, and in central intervals."""
    below = tuple(float((truth <= each).mean()) for each in _quantiles(output, LEVELS).T)
    intervals = []
    for nominal in INTERVALS:
        low, high = _quantiles(output, ((1 - nominal) / 2, (1 + nominal) / 2)).T
        inside = proportion((low <= truth) & (truth <= high))
        intervals.append(IntervalCoverage(nominal, inside, float((high - low).mean())))
    return Coverage(LEVELS, below, tuple(intervals))


def _quantiles(output: np.ndarray, levels: tuple[float, ...]) -> Float[np.ndarray, "row level"]:
    return interpolate_quantiles(torch.from_numpy(output), levels).numpy()
