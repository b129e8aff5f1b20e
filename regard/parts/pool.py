"""Pools: one state for the whole of an image, which its label is read from."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.core.shapes import States
from regard.parts.embed import first_token
from regard.parts.multihead import MultiHead

Whole = Float[Tensor, "batch width"]


@dataclass(frozen=True)
class ClassToken:
    """A token before the first patch that only listens (Dosovitskiy et al., 2021)."""

    tokens = 1  # that it adds to those of the image

    def build(self, width: int, heads: int) -> "TokenPool":
        return TokenPool(width)


@dataclass(frozen=True)
class Mean:
    """The mean of all patches: each counts alike."""

    tokens = 0

    def build(self, width: int, heads: int) -> "MeanPool":
        return MeanPool()


@dataclass(frozen=True)
class Query:
    """A learned query looks at all patches, and its pattern tells which decided (after Hassani et al., 2021)."""

    tokens = 0

    def build(self, width: int, heads: int) -> "QueryPool":
        return QueryPool(width, heads)


Pool = ClassToken | Mean | Query


class TokenPool(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.token = nn.Parameter(torch.zeros(1, 1, width))

    def enter(self, patches: States) -> Float[Tensor, "batch length+1 width"]:
        return first_token(self.token, patches)

    def forward(self, states: States) -> Whole:
        return states[:, 0]


class MeanPool(nn.Module):
    def enter(self, patches: States) -> States:
        return patches

    def forward(self, states: States) -> Whole:
        return states.mean(1)


class QueryPool(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.query = nn.Parameter(torch.randn(1, 1, width) * width**-0.5)
        self.look = MultiHead(width, heads)

    def enter(self, patches: States) -> States:
        return patches

    def forward(self, states: States) -> Whole:
        return self.look(self.query.expand(len(states), -1, -1), states)[:, 0]
