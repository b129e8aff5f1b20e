"""Schedules: the learning rate as a share of its peak, by step and by how much of the budget is used."""

import math
from dataclasses import dataclass

from regard.core.errors import ConfigError, at_least


@dataclass(frozen=True)
class Cosine:
    """Warm up, then half a cosine down (Loshchilov & Hutter, 2017)."""

    warmup: int = 100  # steps
    floor: float = 0.0  # share of the peak at the end

    def __post_init__(self) -> None:
        _checked(self.warmup, floor=self.floor)

    def share(self, step: int, done: float) -> float:
        return warm(step, self.warmup, done) * (self.floor + (1 - self.floor) * (1 + math.cos(math.pi * done)) / 2)


@dataclass(frozen=True)
class InverseRoot:
    """Warm up, then fall with the root of the steps (Vaswani et al., 2017)."""

    warmup: int = 4000

    def __post_init__(self) -> None:
        _checked(self.warmup)

    def share(self, step: int, done: float) -> float:
        return warm(step, self.warmup, done) * math.sqrt(self.warmup / max(step + 1, self.warmup, 1))


@dataclass(frozen=True)
class CoolDown:
    """Warm up, hold, then straight down to nothing (Zhai et al., 2022)."""

    warmup: int = 0
    hold: float = 0.4  # share of the budget at the peak

    def __post_init__(self) -> None:
        _checked(self.warmup, hold=self.hold)

    def share(self, step: int, done: float) -> float:
        return warm(step, self.warmup, done) * min(1.0, (1 - done) / max(1e-9, 1 - self.hold))


@dataclass(frozen=True)
class Constant:
    warmup: int = 0

    def __post_init__(self) -> None:
        _checked(self.warmup)

    def share(self, step: int, done: float) -> float:
        return warm(step, self.warmup, done)


LATEST = 10  # a warm-up has ended when one part in so many of the budget is used
Schedule = Cosine | InverseRoot | CoolDown | Constant


def _checked(warmup: int, **shares: float) -> None:
    at_least(0, warmup=warmup)
    for name, value in shares.items():
        if not 0 <= value <= 1:
            raise ConfigError(f"{name}: must be between 0 and 1, not {value}")


def warm(step: int, warmup: int, done: float) -> float:
    """Up to one within `warmup` steps, and within a tenth of the budget however short the run."""
    return min(1.0, max((step + 1) / warmup, LATEST * done)) if warmup > 0 else 1.0
