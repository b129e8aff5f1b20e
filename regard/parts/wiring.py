"""Wiring: where the norm stands in a block, and whether its branches are added to the residual stream."""

from dataclasses import dataclass
from typing import ClassVar

from regard.core.config import Config
from regard.parts.blocks import Block, NoResidualBlock, PostNormBlock, PreNormBlock


class WiringConfig(Config):
    block: ClassVar[type[Block]]
    ends_with_norm: ClassVar[bool]  # whether a stack needs a final norm


@dataclass(frozen=True)
class PreNorm(WiringConfig):
    """x + f(norm(x)): the residual stream is never normed, which is stable without warm-up (Xiong et al., 2020)."""

    block = PreNormBlock
    ends_with_norm = True


@dataclass(frozen=True)
class PostNorm(WiringConfig):
    """norm(x + f(x)), as in the first Transformer (Vaswani et al., 2017)."""

    block = PostNormBlock
    ends_with_norm = False


@dataclass(frozen=True)
class NoResidual(WiringConfig):
    """f(norm(x)): an ablation, to measure what residual connections are worth."""

    block = NoResidualBlock
    ends_with_norm = True


Wiring = PreNorm | PostNorm | NoResidual
