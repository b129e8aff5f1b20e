"""Pools: one state for the whole of an image, which its label is read from."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.core.config import Config
from regard.core.errors import at_least, at_most
from regard.core.shapes import States
from regard.core.sizes import MAX_LENGTH
from regard.parts.embed import first_token
from regard.parts.multihead import MultiHead

Whole = Float[Tensor, "batch width"]


class PoolConfig(Config):
    states: ClassVar[int] = 1  # that it gives for an image, side by side

    @property
    def tokens(self) -> int:
        """How many it adds to those of the image."""
        return 0

    def build(self, width: int, heads: int) -> "Pooling":
        raise NotImplementedError("abstract: a config builds its pool")


@dataclass(frozen=True)
class ClassToken(PoolConfig):
    """A token before the first patch that only listens (Dosovitskiy et al., 2021)."""

    registers: int = 0  # more learned tokens, which no label is read from (Darcet et al., 2024)

    def __post_init__(self) -> None:
        at_least(0, registers=self.registers)
        at_most(MAX_LENGTH, registers=self.registers)

    @property
    def tokens(self) -> int:
        return 1 + self.registers

    def build(self, width: int, heads: int) -> "TokenPool":
        return TokenPool(width, self.registers)


@dataclass(frozen=True)
class ClassAndMean(ClassToken):
    """The state of a token before the first patch, beside the mean of the patches (Oquab et al., 2024)."""

    states = 2

    def build(self, width: int, heads: int) -> "TokenAndMeanPool":
        return TokenAndMeanPool(width, self.registers)


@dataclass(frozen=True)
class Mean(PoolConfig):
    """The mean of all patches: each counts alike."""

    def build(self, width: int, heads: int) -> "MeanPool":
        return MeanPool()


@dataclass(frozen=True)
class Query(PoolConfig):
    """A learned query looks at all patches, and its pattern tells which decided (after Hassani et al., 2021)."""

    def build(self, width: int, heads: int) -> "QueryPool":
        return QueryPool(width, heads)


Pool = ClassToken | ClassAndMean | Mean | Query


class Pooling(nn.Module):
    def enter(self, patches: States) -> Float[Tensor, "batch tokens width"]:
        """The states that the blocks read: the patches, perhaps after a token of the pool's own."""
        return patches

    def forward(self, states: States) -> Whole:
        raise NotImplementedError("abstract: one state for the whole image")


class TokenPool(Pooling):
    def __init__(self, width: int, registers: int = 0):
        super().__init__()
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.registers = nn.Parameter(torch.zeros(1, registers, width)) if registers else None
        self.tokens = 1 + registers

    def enter(self, patches: States) -> Float[Tensor, "batch tokens width"]:
        if self.registers is not None:
            patches = torch.cat([self.registers.expand(len(patches), -1, -1), patches], 1)
        return first_token(self.token, patches)

    def forward(self, states: States) -> Whole:
        return states[:, 0]


class TokenAndMeanPool(TokenPool):
    def forward(self, states: States) -> Float[Tensor, "batch both"]:
        return torch.cat([states[:, 0], states[:, self.tokens :].mean(1)], -1)


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
