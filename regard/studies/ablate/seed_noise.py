"""Seed noise: how far two means may lie apart when nothing differs but the seeds."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from regard.core.errors import ConfigError

LEVEL = 0.95


@dataclass(frozen=True)
class Noise:
    """The losses of the base, repeated with other seeds and nothing else changed."""

    losses: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.losses) < 2:
            raise ConfigError("seeds: the base must be repeated at least twice to tell an effect from noise")

    @property
    def mean(self) -> float:
        return fmean(self.losses)

    @property
    def deviation(self) -> float:
        return stdev(self.losses)

    def band(self, losses: Sequence[float]) -> float:
        """Half the width of the band around no difference, for the mean of a change with these losses.

        Student's interval of a difference of means. The deviation is the base's, which has more seeds, or the change's
        own where that is larger: a change that makes runs erratic must not pass for a steady effect.
        """
        from scipy.stats import t

        spread = max(self.deviation, stdev(losses) if len(losses) > 1 else 0.0)
        far = float(t.ppf((1 + LEVEL) / 2, len(self.losses) - 1))
        return far * spread * math.sqrt(1 / len(self.losses) + 1 / len(losses))


@dataclass(frozen=True)
class Effect:
    """What a change did to the loss, against the noise."""

    name: str
    losses: tuple[float, ...]  # of the seeds that ended well
    diverged: int  # seeds that did not
    difference: float | None  # of the means; above 0 the change is worse
    band: float | None

    @property
    def verdict(self) -> str:
        if not self.losses:
            return "diverges"
        far, band = self.difference or 0.0, self.band or 0.0
        told = "no effect" if abs(far) <= band else "worse" if far > 0 else "better"
        return f"{told}; {self.diverged} of {self.diverged + len(self.losses)} diverged" if self.diverged else told


def effect(name: str, losses: Sequence[float | None], noise: Noise) -> Effect:
    """Compare a change, whose diverged runs are None, with the base."""
    ended = tuple(loss for loss in losses if loss is not None)
    lost = len(losses) - len(ended)
    if not ended:
        return Effect(name, (), lost, None, None)
    return Effect(name, ended, lost, fmean(ended) - noise.mean, noise.band(ended))
