"""Learning-rate schedules: a multiplier of the peak rate, by step and by the fraction of the budget that is used."""

import math
from dataclasses import dataclass

from regard.core.config import Config
from regard.core.errors import ConfigError, at_least


class ScheduleConfig(Config):
    """The family of schedules; one of your own inherits from a member."""


@dataclass(frozen=True)
class Cosine(ScheduleConfig):
    """Warm up, then decay along half a cosine (Loshchilov & Hutter, 2017)."""

    warmup: int = 100  # steps
    floor: float = 0.0  # multiplier at the end

    def __post_init__(self) -> None:
        _check(self.warmup, floor=self.floor)

    def multiplier(self, step: int, done: float) -> float:
        return warm_up(step, self.warmup, done) * (self.floor + (1 - self.floor) * (1 + math.cos(math.pi * done)) / 2)


@dataclass(frozen=True)
class InverseRoot(ScheduleConfig):
    """Warm up, then decay with the square root of the step (Vaswani et al., 2017)."""

    warmup: int = 4000

    def __post_init__(self) -> None:
        _check(self.warmup)

    def multiplier(self, step: int, done: float) -> float:
        return warm_up(step, self.warmup, done) * math.sqrt(self.warmup / max(step + 1, self.warmup, 1))


@dataclass(frozen=True)
class WSD(ScheduleConfig):
    """Warm up, stay stable, then decay linearly to zero (Zhai et al., 2022; Hu et al., 2024)."""

    warmup: int = 0
    stable: float = 0.4  # fraction of the budget after which the decay begins

    def __post_init__(self) -> None:
        _check(self.warmup, stable=self.stable)

    def multiplier(self, step: int, done: float) -> float:
        return warm_up(step, self.warmup, done) * min(1.0, (1 - done) / max(1e-9, 1 - self.stable))


@dataclass(frozen=True)
class Constant(ScheduleConfig):
    warmup: int = 0

    def __post_init__(self) -> None:
        _check(self.warmup)

    def multiplier(self, step: int, done: float) -> float:
        return warm_up(step, self.warmup, done)


LATEST = 10  # a warm-up ends when one part in so many of the budget is used
Schedule = Cosine | InverseRoot | WSD | Constant


def _check(warmup: int, **fractions: float) -> None:
    at_least(0, warmup=warmup)
    for name, value in fractions.items():
        if not 0 <= value <= 1:
            raise ConfigError(f"{name}: must be between 0 and 1, not {value}")


def warm_up(step: int, warmup: int, done: float) -> float:
    """Rises to one within `warmup` steps, and within a tenth of the budget however short the run."""
    return min(1.0, max((step + 1) / warmup, LATEST * done)) if warmup > 0 else 1.0
