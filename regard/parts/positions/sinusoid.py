"""Sinusoid positions: each place is a set of waves of falling frequency, for any length (Vaswani et al., 2017)."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.core.errors import ConfigError, at_least
from regard.core.shapes import States
from regard.parts.positions.base import PositionConfig, PositionEncoding, Positions


@dataclass(frozen=True)
class Sinusoid(PositionConfig):
    base: float = 10000.0
    start: int = 0  # the number of the first position
    relates = False

    def __post_init__(self) -> None:
        at_least(0, start=self.start)

    def build(self, width: int, heads: int, head_size: int, causal: bool) -> "SinusoidEncoding":
        if width % 2:
            raise ConfigError(f"width {width} is odd: sinusoid positions need pairs of sine and cosine")
        return SinusoidEncoding(self.base, self.start)


class SinusoidEncoding(PositionEncoding):
    def __init__(self, base: float, start: int = 0):
        super().__init__()
        self.base, self.start = base, start

    def embed(self, x: States, positions: Positions) -> States:
        return x + waves(positions.index + self.start, x.shape[-1], self.base).to(x.dtype)


def waves(index: Int[Tensor, "*any"], width: int, base: float) -> Float[Tensor, "*any width"]:
    """Sines in the first half of the width, cosines in the second."""
    rates = base ** (-torch.arange(0, width, 2, device=index.device, dtype=torch.float32) / width)
    angles = index[..., None] * rates
    return torch.cat([angles.sin(), angles.cos()], -1)
