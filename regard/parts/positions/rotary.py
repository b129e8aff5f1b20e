"""Rotary positions: queries and keys turn with their place, so that a match depends on the distance (Su et al., 2021)."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from regard.core.errors import ConfigError
from regard.parts.positions.base import Places, PositionCode


@dataclass(frozen=True)
class Rotary:
    base: float = 10000.0
    relates = False

    def build(self, width: int, heads: int, size: int, causal: bool) -> "RotaryCode":
        if size % 2:
            raise ConfigError(f"head size {size} is odd: rotary positions turn pairs")
        return RotaryCode(self.base)


class RotaryCode(PositionCode):
    """The first half of a head is paired with the second."""

    def __init__(self, base: float):
        super().__init__()
        self.base = base

    def turn(self, x: Float[Tensor, "batch heads length size"], places: Places) -> Tensor:
        size = x.shape[-1]
        rates = self.base ** (-torch.arange(0, size, 2, device=x.device, dtype=torch.float32) / size)
        angles = places.index[:, None, :, None] * rates
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        one, other = x.chunk(2, -1)
        return torch.cat([one * cos - other * sin, other * cos + one * sin], -1)
