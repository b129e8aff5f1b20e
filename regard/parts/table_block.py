"""Transformer blocks of tables: rows of a table and cells of a row have no order, and only some are attended to."""

from collections.abc import Callable

from torch import Tensor

from regard.core.shapes import Selected, Stream
from regard.parts.attention import Attention
from regard.parts.blocks import BlockParts
from regard.parts.cache import KVCache
from regard.parts.masks import Mask
from regard.parts.multihead import MultiHead
from regard.parts.trunk import Trunk
from regard.parts.wiring import NoResidual, PostNorm


class TableBlock(BlockParts):
    """With `context`, all positions attend to the first so many (rows whose target is known), or to the cache.

    With `queries`, only the first so many positions attend and are returned (summary tokens of a row).
    """

    def forward(
        self,
        x: Stream,
        mask: Mask | None = None,
        cache: KVCache | None = None,
        context: int | None = None,
        queries: int | None = None,
    ) -> Selected:
        x = x[:, :queries] + self.drop(self._attend(self.attend_norm(x), mask, cache, context, queries))
        return x if self.feed is None else x + self.drop(self.feed(self.feed_norm(x)))

    def _attend(
        self, h: Tensor, mask: Mask | None, cache: KVCache | None, context: int | None, queries: int | None
    ) -> Tensor:
        everything = None if queries is None else h
        keys = everything if context is None else h[:, :context]
        output: Tensor = self.attend(h if queries is None else h[:, :queries], keys, mask, cache=cache)
        return output


class PostNormTableBlock(TableBlock):
    def forward(
        self,
        x: Stream,
        mask: Mask | None = None,
        cache: KVCache | None = None,
        context: int | None = None,
        queries: int | None = None,
    ) -> Selected:
        x = self.attend_norm(x[:, :queries] + self.drop(self._attend(x, mask, cache, context, queries)))
        return x if self.feed is None else self.feed_norm(x + self.drop(self.feed(x)))


class NoResidualTableBlock(TableBlock):
    def forward(
        self,
        x: Stream,
        mask: Mask | None = None,
        cache: KVCache | None = None,
        context: int | None = None,
        queries: int | None = None,
    ) -> Selected:
        x = self.drop(self._attend(self.attend_norm(x), mask, cache, context, queries))
        return x if self.feed is None else self.drop(self.feed(self.feed_norm(x)))


def table_block(
    config: Trunk, attention: Attention | None = None, heads: Callable[..., MultiHead] = MultiHead
) -> TableBlock:
    """A block with the settings of `config`, and another attention where one is given; `heads` builds its MultiHead."""
    kind = TableBlock
    if isinstance(config.wiring, PostNorm):
        kind = PostNormTableBlock
    elif isinstance(config.wiring, NoResidual):
        kind = NoResidualTableBlock
    attend = config.multihead(attention or config.attention, heads)
    return kind(config.width, attend, config.feed_forward(), config.norm, config.dropout)
