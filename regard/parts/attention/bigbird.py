"""BigBird: a window, a few global blocks and a few random ones connect everything in linear time (Zaheer et al., 2020).

The random blocks of a query block are drawn from its own number alone, so a text reads the same whether it stands by
itself, is padded, or comes token by token from a cache.
"""

import random
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from regard.core.compiling import constant_result
from regard.core.errors import ConfigError, at_least
from regard.core.machine import seed_for
from regard.core.shapes import Keys, Output, Pattern, Queries, Values
from regard.parts.attention.base import Attention, AttentionConfig, Bias
from regard.parts.attention.blocks import attend_to_blocks
from regard.parts.attention.full import FullAttention
from regard.parts.masks import Allowed, Index, Mask, join


@dataclass(frozen=True)
class BigBird(AttentionConfig):
    block: int = 64  # tokens to a block
    window: int = 3  # neighbouring blocks that each block sees, itself included; odd
    globals: int = 1  # first blocks, which see all and are seen by all
    random: int = 2  # blocks drawn at random for each block
    seed: int = 0
    hides_future = True
    takes_bias = True
    cross_attention = False

    def __post_init__(self) -> None:
        at_least(1, block=self.block, window=self.window)
        at_least(0, globals=self.globals, random=self.random)
        if self.window % 2 == 0:
            raise ConfigError(f"window: must be odd (a block, and as many to either side), not {self.window}")

    def build(self, heads: int, head_size: int) -> "BigBirdAttention":
        return BigBirdAttention(self, head_size)


class BigBirdAttention(Attention):
    def __init__(self, config: BigBird, size: int):
        super().__init__()
        self.config = config
        self.full = FullAttention(size**-0.5)

    def forward(self, q: Queries, k: Keys, v: Values, mask: Mask | None = None, bias: Bias | None = None) -> Output:
        block, length = self.config.block, k.shape[-2]
        blocks = -(-length // block)
        rule, causal = self._rule(length, mask)
        if q.shape[-2] != length or blocks <= self.config.window + self.config.globals:
            return self.full(q, k, v, rule, bias)
        table = seen_blocks(self.config, blocks, causal).to(q.device)  # says all that BigBird's own rule would
        output = attend_to_blocks(q, k, v, table, block, self.full.scale, mask, bias)
        if causal or not self.config.globals:
            return output
        first = q[..., : self.config.globals * block, :]  # queries of the global blocks see every key
        early = length - first.shape[-2]
        seeing_all = self.full(first, k, v, mask and Earlier(mask, early), bias and Earlier(bias, early))
        return torch.cat([seeing_all, output[..., first.shape[-2] :, :]], -2)

    def watch(
        self, q: Queries, k: Keys, v: Values, mask: Mask | None = None, bias: Bias | None = None
    ) -> tuple[Output, Pattern]:
        return self.full.watch(q, k, v, self._rule(k.shape[-2], mask)[0], bias)

    def _rule(self, length: int, mask: Mask | None) -> tuple[Mask | None, bool]:
        causal = mask is not None and mask.hides_future
        return join(mask, BlockRule(self.config, length, causal)), causal


class Earlier(Mask):
    """A mask or a bias for queries that stand `by` positions before the last ones."""

    def __init__(self, rule: Mask | Bias, by: int):
        self.rule: Any = rule
        self.by = by

    def at(self, *index: Tensor) -> Tensor:
        *q, query, key = index  # a bias is asked with the queries too
        seen: Tensor = self.rule.at(*q, query - self.by, key)
        return seen


class BlockRule(Mask):
    """BigBird's own mask: global blocks, neighbouring blocks, random blocks."""

    def __init__(self, config: BigBird, length: int, causal: bool):
        self.config = config
        self.random = random_blocks(config, -(-length // config.block), causal)

    def at(self, query: Index, key: Index) -> Allowed:
        mine, other = query // self.config.block, key // self.config.block
        allowed = (mine - other).abs() <= self.config.window // 2
        allowed = allowed | (mine < self.config.globals) | (other < self.config.globals)
        drawn = self.random.to(key.device)[mine] == other[..., None]
        return (allowed | drawn.any(-1))[None]


@lru_cache(maxsize=64)
@constant_result  # the compiler need not follow how it was drawn
@torch.inference_mode(False)  # what is remembered while decoding must serve training too
def random_blocks(config: BigBird, blocks: int, causal: bool) -> Tensor:
    """The random key blocks of each query block, -1 where there is none to draw or it lies beyond the end."""
    rows = []
    for mine in range(blocks):
        # Drawn below a bound that knows the block's own number only: twice it, or itself where the future is hidden.
        bound = mine if causal else max(2 * mine, config.globals + config.window + 2 * config.random)
        side = config.window // 2
        choices = [other for other in range(config.globals, bound) if abs(mine - other) > side]
        draw = random.Random(seed_for("bigbird", config.seed, mine))
        drawn = draw.sample(choices, min(config.random, len(choices))) if mine >= config.globals else []
        drawn = [other if other < blocks else -1 for other in drawn]
        rows.append(drawn + [-1] * (config.random - len(drawn)))
    return torch.tensor(rows, dtype=torch.long).view(blocks, config.random)


@lru_cache(maxsize=64)
@constant_result
@torch.inference_mode(False)
def seen_blocks(config: BigBird, blocks: int, causal: bool) -> Tensor:
    """All key blocks that each query block sees, none twice; -1 fills the unused slots."""
    mine = torch.arange(blocks)[:, None]
    first = torch.arange(config.globals).expand(blocks, -1)
    side = config.window // 2
    near = mine + torch.arange(-side, 1 if causal else side + 1)
    near = near.masked_fill((near < config.globals) | (near >= blocks), -1)
    return torch.cat([first, near, random_blocks(config, blocks, causal)], 1)
