"""Blocks and stacks: attention, then feed-forward, again and again."""

from collections.abc import Iterable

import torch
from torch import nn

from regard.core.shapes import Memory, States
from regard.parts.cache import Cache, KVCache
from regard.parts.feed import Nothing
from regard.parts.masks import Mask
from regard.parts.multihead import MultiHead
from regard.parts.norms import Norm
from regard.parts.positions import PositionEncoding, Positions
from regard.parts.wiring import PreNorm, Wiring


class Sublayers(nn.Module):
    """What a block is made of: attention, perhaps another to a memory, and feed-forward, each joined to the stream."""

    def __init__(
        self,
        width: int,
        attend: nn.Module,
        feed: nn.Module,
        norm: Norm,
        wiring: Wiring = PreNorm(),
        dropout: float = 0.0,
        cross: MultiHead | None = None,
    ):
        super().__init__()
        self.attend, self.cross, self.feed = attend, cross, feed
        self.join_attend = wiring.build(width, norm, dropout)
        self.join_cross = wiring.build(width, norm, dropout) if cross else None
        self.join_feed = None if isinstance(feed, Nothing) else wiring.build(width, norm, dropout)


class Block(Sublayers):
    """Look around; look at the memory, where there is one; think about it."""

    def forward(
        self,
        x: States,
        mask: Mask | None = None,
        position: PositionEncoding | None = None,
        positions: Positions | None = None,
        memory: Memory | None = None,
        memory_mask: Mask | None = None,
        cache: tuple[KVCache, KVCache] | None = None,
    ) -> States:
        own, remembered = cache or (None, None)
        x = self.join_attend(x, lambda h: self.attend(h, None, mask, position, positions, own))
        if self.cross is not None and self.join_cross is not None:
            cross = self.cross
            x = self.join_cross(x, lambda h: cross(h, memory, memory_mask, cache=remembered))
        return x if self.join_feed is None else self.join_feed(x, self.feed)


class Stack(nn.Module):
    """Blocks in a row, with the position code that they share, and a last norm where the wiring leaves none."""

    def __init__(self, blocks: Iterable[Block], position: PositionEncoding, norm: nn.Module, recall: bool = False):
        """With `recall` each block reads a learned mix of the stream and of what entered it (Jordan et al., 2024)."""
        super().__init__()
        self.position = position
        self.blocks = nn.ModuleList(blocks)
        self.norm = norm
        self.mix = nn.Parameter(torch.tensor([1.0, 0.0]).repeat(len(self.blocks), 1)) if recall else None

    def forward(
        self,
        x: States,
        mask: Mask | None = None,
        positions: Positions | None = None,
        memory: Memory | None = None,
        memory_mask: Mask | None = None,
        cache: Cache | None = None,
    ) -> States:
        """`x` already carries what the position code embeds: a model may norm or extend it in between."""
        entered = x
        for layer, block in enumerate(self.blocks):
            if self.mix is not None:
                x = self.mix[layer, 0] * x + self.mix[layer, 1] * entered
            kept = (cache.own[layer], cache.memory[layer]) if cache else None
            x = block(x, mask, self.position, positions, memory, memory_mask, kept)
        return self.norm(x)
