"""Scalings of rotary positions: how turns learned on short texts are changed to serve longer ones."""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from regard.core.config import Config
from regard.core.errors import ConfigError


class ScalingConfig(Config):
    reads_length: ClassVar[bool] = False  # whether the rates depend on the length of the text

    def slow(self, rates: Tensor, length: int) -> Tensor:
        """The rates of rotation, falling from 1, for a text of this length."""
        raise NotImplementedError("abstract: how the rates of rotation change")

    def gain(self) -> float:
        """What turned queries and keys are multiplied with."""
        return 1.0


@dataclass(frozen=True)
class LinearScaling(ScalingConfig):
    """Positions are divided, so that a longer text fits the turns that were learned (Chen et al., 2023)."""

    factor: float

    def __post_init__(self) -> None:
        if not self.factor > 0:
            raise ConfigError(f"factor: must be above 0, not {self.factor}")

    def slow(self, rates: Tensor, length: int) -> Tensor:
        return rates / self.factor


@dataclass(frozen=True)
class Llama3Scaling(ScalingConfig):
    """Only slow turns are stretched; fast ones, which tell neighbours apart, stay as they are (Llama 3.1, 2024)."""

    factor: float
    length: int  # of the texts that the turns were learned on
    low: float = 1.0  # turns that go round fewer times than this in `length` are stretched
    high: float = 4.0  # turns that go round more often stay; between the two the change is gradual

    def __post_init__(self) -> None:
        if not (self.factor > 0 and self.length > 0 and self.low < self.high):
            raise ConfigError(f"{self}: needs factor and length above 0, and low below high")

    def slow(self, rates: Tensor, length: int) -> Tensor:
        rounds = self.length * rates / (2 * math.pi)
        unscaled = ((rounds - self.low) / (self.high - self.low)).clamp(0, 1)
        return (1 - unscaled) * rates / self.factor + unscaled * rates


@dataclass(frozen=True)
class YarnScaling(ScalingConfig):
    """Slow turns are stretched, fast ones stay, and scores are sharpened (YaRN, Peng et al., 2023)."""

    factor: float
    length: int  # of the texts that the turns were learned on
    fast: float = 32.0  # turns that go round more often than this in `length` stay
    slow_rounds: float = 1.0  # turns that go round fewer times are stretched; between the two the change is gradual
    attention: float | None = None  # what turned queries and keys are multiplied with; None: 1 + 0.1 log(factor)
    truncate: bool = True  # whether the bounds of the change are rounded to whole pairs

    def __post_init__(self) -> None:
        if not (self.factor > 0 and self.length > 0 and 0 < self.slow_rounds < self.fast):
            raise ConfigError(f"{self}: needs factor and length above 0, and slow_rounds above 0 and below fast")

    def slow(self, rates: Tensor, length: int) -> Tensor:
        low, high = (self._pair(rates, rounds) for rounds in (self.fast, self.slow_rounds))
        if self.truncate:
            low, high = math.floor(low), math.ceil(high)
        low, high = max(low, 0), min(high, 2 * len(rates) - 1)
        pairs = torch.arange(len(rates), dtype=rates.dtype, device=rates.device)
        stretched = ((pairs - low) / max(high - low, 0.001)).clamp(0, 1)
        return stretched * rates / self.factor + (1 - stretched) * rates

    def _pair(self, rates: Tensor, rounds: float) -> float:
        """Which pair goes round so many times in `length`."""
        if len(rates) < 2:
            return 0.0
        return math.log(self.length / (2 * math.pi * rounds)) / -math.log(float(rates[1]))

    def gain(self) -> float:
        usual = 0.1 * math.log(self.factor) + 1.0 if self.factor > 1 else 1.0
        return usual if self.attention is None else self.attention


@dataclass(frozen=True)
class DynamicScaling(ScalingConfig):
    """Turns are stretched only for texts longer than those learned on, the more the longer (bloc97, 2023)."""

    factor: float
    length: int  # of the texts that the turns were learned on
    reads_length = True

    def __post_init__(self) -> None:
        if not (self.factor > 0 and self.length > 0):
            raise ConfigError(f"{self}: needs factor and length above 0")

    def slow(self, rates: Tensor, length: int) -> Tensor:
        growth = self.factor * max(length, self.length) / self.length - (self.factor - 1)
        pairs = torch.arange(len(rates), dtype=rates.dtype, device=rates.device)
        return rates * growth ** (-pairs / max(len(rates) - 1, 1))


@dataclass(frozen=True)
class LongScaling(ScalingConfig):
    """Every pair has a divisor of its own, found by search, for short and for long texts (Ding et al., 2024)."""

    short: tuple[float, ...]
    long: tuple[float, ...]
    length: int  # texts up to this length are short
    attention: float = 1.0  # what turned queries and keys are multiplied with
    reads_length = True

    def __post_init__(self) -> None:
        if not (self.length > 0 and len(self.short) == len(self.long) and min(*self.short, *self.long) > 0):
            raise ConfigError("LongScaling: needs length above 0, and as many short as long divisors, all above 0")

    def slow(self, rates: Tensor, length: int) -> Tensor:
        divisors = self.long if length > self.length else self.short
        if len(divisors) != len(rates):
            raise ConfigError(f"LongScaling: has {len(divisors)} divisors, a head {len(rates)} pairs that turn")
        return rates / torch.tensor(divisors, dtype=rates.dtype, device=rates.device)

    def gain(self) -> float:
        return self.attention


Scaling = LinearScaling | Llama3Scaling | YarnScaling | DynamicScaling | LongScaling
