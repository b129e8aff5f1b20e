"""Blocks with branches side by side, or with norms on what the branches give."""

from typing import Any

from torch import nn

from regard.core.shapes import Selected, Stream
from regard.parts.blocks import Block, Context
from regard.parts.multihead import MultiHead


class ParallelBlock(Block):
    """Every branch reads the same stream, each through its own norm."""

    def forward(self, x: Stream, context: Context = Context()) -> Selected:
        branch, x = self.attended(self.attend_norm(x), context), context.selected(x)
        out = x + branch
        if self.cross is not None:
            out = out + self.crossed(self.cross, self.cross_norm(x), context)
        return out if self.feed is None else out + self.fed(self.feed, self.feed_norm(x))


class SharedNormBlock(Block):
    """Every branch reads the same stream through the same norm."""

    def __init__(self, *parts: Any, **named: Any):
        super().__init__(*parts, **named)
        self.cross_norm = self.feed_norm = nn.Identity()

    def forward(self, x: Stream, context: Context = Context()) -> Selected:
        normed: Stream = self.attend_norm(x)
        out = context.selected(x) + self.attended(normed, context)
        normed = context.selected(normed)
        if self.cross is not None:
            out = out + self.crossed(self.cross, normed, context)
        return out if self.feed is None else out + self.fed(self.feed, normed)


class BranchNormBlock(Block):
    """The norm stands on what a branch gives, inside the residual connection."""

    def forward(self, x: Stream, context: Context = Context()) -> Selected:
        x = context.selected(x) + self.attend_norm(self.attended(x, context))
        if self.cross is not None:
            x = x + self.cross_norm(self.crossed(self.cross, x, context))
        return x if self.feed is None else x + self.feed_norm(self.fed(self.feed, x))


class SandwichBlock(Block):
    """A norm before each branch and another on what it gives."""

    def __init__(self, width: int, attend: MultiHead, feed: nn.Module | None, norm: Any, *more: Any, **named: Any):
        super().__init__(width, attend, feed, norm, *more, **named)
        self.attend_end = norm.build(width)
        self.cross_end = nn.Identity() if self.cross is None else norm.build(width)
        self.feed_end = nn.Identity() if feed is None else norm.build(width)

    def forward(self, x: Stream, context: Context = Context()) -> Selected:
        x = context.selected(x) + self.attend_end(self.attended(self.attend_norm(x), context))
        if self.cross is not None:
            x = x + self.cross_end(self.crossed(self.cross, self.cross_norm(x), context))
        return x if self.feed is None else x + self.feed_end(self.fed(self.feed, self.feed_norm(x)))
