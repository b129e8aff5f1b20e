"""Wiring: where the norm stands in a block, and whether its branches are added to the residual stream."""

from dataclasses import dataclass
from typing import ClassVar

from regard.core.config import Config
from regard.parts.blocks import Block, NoResidualBlock, PostNormBlock, PreNormBlock
from regard.parts.more_blocks import BranchNormBlock, ParallelBlock, SandwichBlock, SharedNormBlock


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


@dataclass(frozen=True)
class Parallel(WiringConfig):
    """x + f(norm₁(x)) + g(norm₂(x)): attention and feed-forward side by side (Black et al., 2022)."""

    block = ParallelBlock
    ends_with_norm = True


@dataclass(frozen=True)
class SharedNorm(WiringConfig):
    """x + f(norm(x)) + g(norm(x)): side by side, through one norm (Wang & Komatsuzaki, 2021)."""

    block = SharedNormBlock
    ends_with_norm = True


@dataclass(frozen=True)
class BranchNorm(WiringConfig):
    """x + norm(f(x)): the norm bounds what a branch adds (Liu et al., 2022)."""

    block = BranchNormBlock
    ends_with_norm = True


@dataclass(frozen=True)
class Sandwich(WiringConfig):
    """x + norm₂(f(norm₁(x))): a norm before and after each branch (Ding et al., 2021)."""

    block = SandwichBlock
    ends_with_norm = True


Wiring = PreNorm | PostNorm | NoResidual | Parallel | SharedNorm | BranchNorm | Sandwich
