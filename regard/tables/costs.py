"""Costs: the threshold from which on a class should be predicted, if a miss costs more than a false alarm, or less.

With calibrated probabilities it is false alarm / (false alarm + miss) (Elkan, 2001). Held-out rows decide, because
probabilities are never quite calibrated; where they leave a range of thresholds open, that one is preferred.
"""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Bool, Float

from regard.core.errors import ConfigError


@dataclass(frozen=True)
class Cost:
    """What a false alarm and a miss cost."""

    false_alarm: float
    miss: float

    def __post_init__(self) -> None:
        if not (0 < self.false_alarm < math.inf and 0 < self.miss < math.inf):
            raise ConfigError(f"--cost {self}: both must be more than 0")

    def __str__(self) -> str:
        return f"{self.false_alarm:g}:{self.miss:g}"

    @property
    def threshold(self) -> float:
        """The best one if probabilities are calibrated."""
        return self.false_alarm / (self.false_alarm + self.miss)


def read_cost(text: str) -> Cost:
    """FALSE_ALARM:MISS, such as 1:20."""
    parts = text.split(":")
    try:
        false_alarm, miss = map(float, parts)
    except ValueError:
        raise ConfigError(
            f"--cost {text}: must be two numbers, FALSE_ALARM:MISS, such as 1:20 if a miss costs twenty times as much"
        ) from None
    return Cost(false_alarm, miss)


def mean_cost(
    truth: Bool[np.ndarray, " row"], probability: Float[np.ndarray, " row"], threshold: float, cost: Cost
) -> float:
    """The cost per row at a threshold."""
    detected = probability >= threshold
    return float((cost.false_alarm * (detected & ~truth) + cost.miss * (~detected & truth)).mean())


def cheapest_threshold(truth: Bool[np.ndarray, " row"], probability: Float[np.ndarray, " row"], cost: Cost) -> float:
    """A threshold with the least cost on these rows: a short number in the range of those that are equally good."""
    ends = np.unique(np.concatenate([[0.0], probability.clip(0, 1), [1.0]]))
    ranges = list(pairwise(ends.tolist()))  # all thresholds above the lower end, up to the higher one, are alike
    costs = np.array([mean_cost(truth, probability, high, cost) for _, high in ranges])
    best = np.flatnonzero(np.isclose(costs, costs.min(), rtol=1e-9, atol=0))
    low, high = min((ranges[place] for place in best), key=lambda one: _distance(cost.threshold, *one))
    return short_number(low, high, cost.threshold)


def _distance(wanted: float, low: float, high: float) -> float:
    return max(low - wanted, wanted - high, 0.0)


def short_number(low: float, high: float, wanted: float | None = None) -> float:
    """A number above `low`, at most `high` and below 1, with few digits: `wanted` rounded, or one in the middle."""
    middle = wanted if wanted is not None and low < wanted <= high else (low + high) / 2
    for digits in range(1, 17):
        number = round(middle, digits)
        if low < number <= high and number < 1:
            return number
    return min(high, math.nextafter(1.0, 0.0))
