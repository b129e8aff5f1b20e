"""Bucketed distances: a learned score for each head and range of distances, fine near, coarse far (T5, Raffel 2020)."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.core.errors import ConfigError, at_least, at_most
from regard.core.sizes import MAX_LENGTH
from regard.parts.attention.base import Bias
from regard.parts.masks import Index
from regard.parts.positions.base import PositionConfig, PositionEncoding, Positions


@dataclass(frozen=True)
class T5Bias(PositionConfig):
    count: int = 32
    far: int = 128  # distances from here on share the last bucket
    relates = True

    def __post_init__(self) -> None:
        at_least(4, count=self.count)  # both ways, near and far
        at_most(MAX_LENGTH, count=self.count)
        if self.far <= self.count // 2:
            raise ConfigError(f"far: must be beyond the {self.count // 2} buckets of one distance each, not {self.far}")

    def build(self, width: int, heads: int, head_size: int, causal: bool) -> "T5BiasEncoding":
        return T5BiasEncoding(self.count, self.far, heads, causal)


class T5BiasEncoding(PositionEncoding):
    def __init__(self, count: int, far: int, heads: int, causal: bool):
        super().__init__()
        self.count, self.far, self.causal = count, far, causal
        self.table = nn.Embedding(count, heads)

    def bias(self, positions: Positions) -> Bias:
        return T5ScoreBias(self)


class T5ScoreBias:
    def __init__(self, code: T5BiasEncoding):
        self.code = code

    def at(self, q: Float[Tensor, "batch heads *query size"], query: Index, key: Index) -> Tensor:
        bucket = buckets(key - query, self.code.count, self.code.far, self.code.causal)
        bias: Tensor = self.code.table(bucket)
        return bias.movedim(-1, 0)[None].to(q.dtype)


def buckets(distance: Tensor, count: int, far: int, causal: bool) -> Tensor:
    """Half of the buckets hold one distance each, the rest widen as logarithms; both ways, right has its own half."""
    start = torch.zeros_like(distance)
    if causal:
        distance = (-distance).clamp(min=0)
    else:
        count //= 2
        start = (distance > 0) * count
        distance = distance.abs()
    exact = count // 2
    spread = torch.log(distance.clamp(min=1).float() / exact) / math.log(far / exact) * (count - exact)
    wide = (exact + spread.long()).clamp(max=count - 1)
    return start + torch.where(distance < exact, distance, wide)
