"""Rotary positions: queries and keys turn with their place, so a match depends on the distance (Su et al., 2021)."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from regard.core.config import Config
from regard.core.errors import ConfigError
from regard.parts.positions.base import PositionConfig, PositionEncoding, Positions


class ScalingConfig(Config):
    def slow(self, rates: Tensor) -> Tensor:
        raise NotImplementedError("abstract: how the rates of rotation change")


@dataclass(frozen=True)
class LinearScaling(ScalingConfig):
    """Positions are divided, so that a longer text fits the turns that were learned (Chen et al., 2023)."""

    factor: float

    def __post_init__(self) -> None:
        if not self.factor > 0:
            raise ConfigError(f"factor: must be above 0, not {self.factor}")

    def slow(self, rates: Tensor) -> Tensor:
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

    def slow(self, rates: Tensor) -> Tensor:
        rounds = self.length * rates / (2 * math.pi)
        unscaled = ((rounds - self.low) / (self.high - self.low)).clamp(0, 1)
        return (1 - unscaled) * rates / self.factor + unscaled * rates


Scaling = LinearScaling | Llama3Scaling


@dataclass(frozen=True)
class Rotary(PositionConfig):
    base: float = 10000.0
    scaling: Scaling | None = None
    relates = False

    def build(self, width: int, heads: int, head_size: int, causal: bool) -> "RotaryEncoding":
        if head_size % 2:
            raise ConfigError(f"head size {head_size} is odd: rotary positions turn pairs")
        return RotaryEncoding(self.base, self.scaling)


class RotaryEncoding(PositionEncoding):
    """The first half of a head is paired with the second."""

    def __init__(self, base: float, scaling: Scaling | None = None):
        super().__init__()
        self.base, self.scaling = base, scaling
        self._last: tuple[Positions, torch.dtype, Tensor, Tensor] | None = None

    def turn(self, x: Float[Tensor, "batch heads length size"], positions: Positions) -> Tensor:
        cos, sin = self._angles(x, positions)
        return x * cos + x.roll(x.shape[-1] // 2, -1) * sin

    def _angles(self, x: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        """What to multiply a head with, and what its other half.

        Every layer asks for the same ones, which is a tenth of a step that writes one token.
        """
        if torch.compiler.is_compiling():  # then they are computed in passing
            return self._compute(x, positions)
        last = self._last  # another thread may replace it meanwhile
        if last is None or last[0] is not positions or last[1] != x.dtype:
            last = self._last = positions, x.dtype, *self._compute(x, positions)
        return last[2], last[3]

    def _compute(self, x: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        size = x.shape[-1]
        rates = 1 / self.base ** (torch.arange(0, size, 2, device=x.device, dtype=torch.float32) / size)
        rates = rates if self.scaling is None else self.scaling.slow(rates)
        angles = positions.index[:, None, :, None] * rates
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        return torch.cat([cos, cos], -1), torch.cat([-sin, sin], -1)
