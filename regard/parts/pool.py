"""Pools: one state for the whole of an image, which its label is read from."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.core.config import Config
from regard.core.shapes import States
from regard.parts.embed import first_token
from regard.parts.multihead import MultiHead

Whole = Float[Tensor, "batch width"]


class PoolConfig(Config):
    tokens: ClassVar[int]  # that it adds to those of the image

    def build(self, width: int, heads: int) -> "Pooling":
        raise NotImplementedError("abstract: a config builds its pool")


@dataclass(frozen=True)
class ClassToken(PoolConfig):
    """A token before the first patch that only listens (Dosovitskiy et al., 2021)."""

    tokens = 1

    def build(self, width: int, heads: int) -> "TokenPool":
        return TokenPool(width)


@dataclass(frozen=True)
class Mean(PoolConfig):
    """The mean of all patches: each counts alike."""

    tokens = 0

    def build(self, width: int, heads: int) -> "MeanPool":
        return MeanPool()


@dataclass(frozen=True)
class Query(PoolConfig):
    """A learned query looks at all patches, and its pattern tells which decided (after Hassani et al., 2021)."""

    tokens = 0

    def build(self, width: int, heads: int) -> "QueryPool":
        return QueryPool(width, heads)


Pool = ClassToken | Mean | Query


class Pooling(nn.Module):
    def enter(self, patches: States) -> Float[Tensor, "batch tokens width"]:
        """The states that the blocks read: the patches, perhaps after a token of the pool's own."""
        return patches

    def forward(self, states: States) -> Whole:
        raise NotImplementedError("abstract: one state for the whole image")


class TokenPool(Pooling):
    def __init__(self, width: int):
        super().__init__()
        self.token = nn.Parameter(torch.zeros(1, 1, width))

    def enter(self, patches: States) -> Float[Tensor, "batch length+1 width"]:
        return first_token(self.token, patches)

    def forward(self, states: States) -> Whole:
        return states[:, 0]


class MeanPool(Pooling):
    def forward(self, states: States) -> Whole:
        return states.mean(1)


class QueryPool(Pooling):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.query = nn.Parameter(torch.randn(1, 1, width) * width**-0.5)
        self.attend = MultiHead(width, heads)

    def forward(self, states: States) -> Whole:
        return self.attend(self.query.expand(states.shape[0], -1, -1), states)[:, 0]
