"""ALiBi: the further a key, the lower its score, at a different rate in each head (Press et al., 2022)."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from regard.parts.attention.base import Bias
from regard.parts.masks import Index
from regard.parts.positions.base import PositionConfig, PositionEncoding, Positions


@dataclass(frozen=True)
class ALiBi(PositionConfig):
    scale: float = 1.0  # of all rates
    relates = True

    def build(self, width: int, heads: int, head_size: int, causal: bool) -> "ALiBiEncoding":
        return ALiBiEncoding(heads, self.scale)


class ALiBiEncoding(PositionEncoding):
    slopes: Tensor

    def __init__(self, heads: int, scale: float = 1.0):
        super().__init__()
        self.register_buffer("slopes", scale * torch.tensor(slopes(heads)), persistent=False)

    def bias(self, positions: Positions) -> Bias:
        return SlopeBias(self.slopes)


class SlopeBias:
    def __init__(self, slopes: Tensor):
        self.slopes = slopes

    def at(self, q: Float[Tensor, "batch heads *query size"], query: Index, key: Index) -> Tensor:
        far = (query - key).abs()
        return (-self.slopes.view(-1, *[1] * far.dim()) * far)[None].to(q.dtype)


def slopes(heads: int) -> list[float]:
    """Powers of 2^(-8/heads); where heads is not a power of two, the gaps are filled from twice as many."""
    whole = 2 ** int(math.log2(heads))
    steps = [2 ** (-8 * (i + 1) / whole) for i in range(whole)]
    between = [2 ** (-4 * (2 * i + 1) / whole) for i in range(heads - whole)]
    return steps + between
