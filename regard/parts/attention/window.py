"""Window attention: every query looks at its neighbourhood only (local attention, Liu et al., 2018)."""

from dataclasses import dataclass

import torch

from regard.core.errors import at_least
from regard.core.shapes import Keys, Output, Pattern, Queries, Values
from regard.parts.attention.base import Attention, AttentionConfig, Bias
from regard.parts.attention.blocks import attend_to_blocks
from regard.parts.attention.full import FullAttention
from regard.parts.masks import Mask, Nearby, join
from regard.parts.softcap import Softcap


@dataclass(frozen=True)
class Window(AttentionConfig):
    reach: int = 64  # a query sees itself and reach - 1 keys to either side
    scale: float | None = None  # of the scores; None: one over the square root of the head size
    softcap: Softcap | None = None  # a bound on the scores; the whole pattern is then built
    hides_future = True
    takes_bias = True
    cross_attention = False
    shift_invariant = True

    def __post_init__(self) -> None:
        at_least(1, reach=self.reach)

    def build(self, heads: int, head_size: int) -> "WindowAttention":
        return WindowAttention(head_size**-0.5 if self.scale is None else self.scale, self.reach, self.softcap)


class WindowAttention(Attention):
    def __init__(self, scale: float, reach: int, softcap: Softcap | None = None):
        super().__init__()
        self.reach = reach
        self.full = FullAttention(scale, softcap=softcap)

    def forward(self, q: Queries, k: Keys, v: Values, mask: Mask | None = None, bias: Bias | None = None) -> Output:
        near = join(mask, Nearby(self.reach))
        if q.shape[-2] != k.shape[-2] or q.shape[-2] <= self.reach or self.full.softcap is not None:
            return self.full(q, k, v, near, bias)
        blocks = torch.arange(-(-q.shape[-2] // self.reach), device=q.device)
        sides = [blocks - 1, blocks] if mask is not None and mask.hides_future else [blocks - 1, blocks, blocks + 1]
        table = torch.stack(sides, 1)
        table = table.masked_fill(table >= len(blocks), -1)
        return attend_to_blocks(q, k, v, table, self.reach, self.full.scale, near, bias)

    def watch(
        self, q: Queries, k: Keys, v: Values, mask: Mask | None = None, bias: Bias | None = None
    ) -> tuple[Output, Pattern]:
        return self.full.watch(q, k, v, join(mask, Nearby(self.reach)), bias)
