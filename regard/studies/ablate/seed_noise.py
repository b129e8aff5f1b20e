"""Seed noise: how far two means may differ when nothing but the seeds differs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from regard.core.errors import ConfigError

CONFIDENCE = 0.95


@dataclass(frozen=True)
class SeedNoise:
    """The losses of the base over several seeds."""

    losses: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.losses) < 2:
            raise ConfigError("seeds: the base needs at least two seeds to estimate the noise")

    @property
    def mean(self) -> float:
        return fmean(self.losses)

    @property
    def std(self) -> float:
        return stdev(self.losses)

    def margin(self, losses: Sequence[float]) -> float:
        """Margin of error of the difference between the mean of these losses and that of the base.

        Half of Student's interval. The standard deviation is the base's, which has more seeds, or the change's own if
        that is larger: a change that makes runs erratic must not pass for a steady effect.
        """
        from scipy.stats import t

        std = max(self.std, stdev(losses) if len(losses) > 1 else 0.0)
        quantile = float(t.ppf((1 + CONFIDENCE) / 2, len(self.losses) - 1))
        return quantile * std * math.sqrt(1 / len(self.losses) + 1 / len(losses))


@dataclass(frozen=True)
class Effect:
    """The difference that a change makes to the loss, with its margin of error."""

    name: str
    losses: tuple[float, ...]  # of the seeds that converged
    diverged: int  # number of seeds that did not
    difference: float | None  # between the means; positive: the change is worse
    margin: float | None

    @property
    def verdict(self) -> str:
        if not self.losses:
            return "diverges"
        difference, margin = self.difference or 0.0, self.margin or 0.0
        verdict = "no effect" if abs(difference) <= margin else "worse" if difference > 0 else "better"
        runs = self.diverged + len(self.losses)
        return f"{verdict}; {self.diverged} of {runs} diverged" if self.diverged else verdict


def effect(name: str, losses: Sequence[float | None], noise: SeedNoise) -> Effect:
    """Compare a change with the base; the loss of a diverged run is None."""
    finite = tuple(loss for loss in losses if loss is not None)
    diverged = len(losses) - len(finite)
    if not finite:
        return Effect(name, (), diverged, None, None)
    return Effect(name, finite, diverged, fmean(finite) - noise.mean, noise.margin(finite))
