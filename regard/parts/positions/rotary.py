"""Rotary positions: queries and keys turn with their place, so a match depends on the distance (Su et al., 2021)."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from regard.core.errors import ConfigError
from regard.parts.positions.base import PositionConfig, PositionEncoding, Positions
from regard.parts.positions.rope_scaling import Scaling


@dataclass(frozen=True)
class Rotary(PositionConfig):
    base: float = 10000.0
    scaling: Scaling | None = None
    fraction: float = 1.0  # of each head that turns; the rest has no position
    relates = False

    def __post_init__(self) -> None:
        if not 0 < self.fraction <= 1:
            raise ConfigError(f"fraction: must be above 0 and at most 1, not {self.fraction}")

    def build(self, width: int, heads: int, head_size: int, causal: bool) -> "RotaryEncoding":
        turning = int(head_size * self.fraction + 1e-6)  # a fraction such as 20 / 48 is not exact
        if turning % 2 or not turning:
            raise ConfigError(f"head size {head_size} turns {turning}, which is odd: rotary positions turn pairs")
        return RotaryEncoding(self.base, self.scaling, turning)


class RotaryEncoding(PositionEncoding):
    """The first half of what turns of a head is paired with the second."""

    def __init__(self, base: float, scaling: Scaling | None = None, turning: int | None = None):
        super().__init__()
        self.base, self.scaling, self.turning = base, scaling, turning
        self.reads_length = scaling is not None and scaling.reads_length
        self._last: tuple[Positions, torch.dtype, Tensor, Tensor] | None = None

    def turn(self, x: Float[Tensor, "batch heads length size"], positions: Positions) -> Tensor:
        cos, sin = self._angles(x, positions)
        size = cos.shape[-1]
        if size == x.shape[-1]:
            if torch.compiler.is_compiling():  # halves are runs of memory, and what is rolled is not
                first, second = x.chunk(2, -1)
                half = size // 2
                cos, sin = cos[..., :half], sin[..., half:]
                return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)
            return x * cos + x.roll(size // 2, -1) * sin
        turned, rest = x[..., :size], x[..., size:]
        return torch.cat([turned * cos + turned.roll(size // 2, -1) * sin, rest], -1)

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
        size = self.turning or x.shape[-1]
        rates = 1 / self.base ** (torch.arange(0, size, 2, device=x.device, dtype=torch.float32) / size)
        gain = 1.0
        if self.scaling is not None:
            length = int(positions.index.max()) + 1 if self.scaling.reads_length else 0
            rates, gain = self.scaling.slow(rates, length), self.scaling.gain()
        angles = positions.index[:, None, :, None] * rates
        cos, sin = (gain * angles.cos()).to(x.dtype), (gain * angles.sin()).to(x.dtype)
        return torch.cat([cos, cos], -1), torch.cat([-sin, sin], -1)
