"""Wiring: how a sublayer joins the stream of states that runs through a model."""

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor, nn

from regard.parts.dropout import Dropout
from regard.parts.norms import Norm


@dataclass(frozen=True)
class PreNorm:
    """The stream stays untouched and sublayers add to it (Xiong et al., 2020): stable without warm-up."""

    ends_with_norm = True

    def build(self, width: int, norm: Norm, dropout: float) -> "PreNormJoint":
        return PreNormJoint(width, norm, dropout)


@dataclass(frozen=True)
class PostNorm:
    """The sum is normed, as in the first Transformer (Vaswani et al., 2017)."""

    ends_with_norm = False

    def build(self, width: int, norm: Norm, dropout: float) -> "PostNormJoint":
        return PostNormJoint(width, norm, dropout)


@dataclass(frozen=True)
class NoResidual:
    """The sublayer replaces the stream, to find out what residuals are worth."""

    ends_with_norm = True

    def build(self, width: int, norm: Norm, dropout: float) -> "NoResidualJoint":
        return NoResidualJoint(width, norm, dropout)


Wiring = PreNorm | PostNorm | NoResidual
Sublayer = Callable[[Tensor], Tensor]


class Joint(nn.Module):
    """A sublayer and the stream around it. With `only`, the sublayer gives so many of the first tokens, which go on."""

    def __init__(self, width: int, norm: Norm, dropout: float):
        super().__init__()
        self.norm = norm.build(width)
        self.drop = Dropout(dropout)


class PreNormJoint(Joint):
    def forward(self, x: Tensor, sublayer: Sublayer, only: int | None = None) -> Tensor:
        return x[:, :only] + self.drop(sublayer(self.norm(x)))


class PostNormJoint(Joint):
    def forward(self, x: Tensor, sublayer: Sublayer, only: int | None = None) -> Tensor:
        return self.norm(x[:, :only] + self.drop(sublayer(x)))


class NoResidualJoint(Joint):
    def forward(self, x: Tensor, sublayer: Sublayer, only: int | None = None) -> Tensor:
        return self.drop(sublayer(self.norm(x)))
