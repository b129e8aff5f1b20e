"""Transformer blocks of tables: rows of a table and cells of a row have no order, and only some are attended to."""

from torch import Tensor

from regard.core.shapes import Kept, Stream
from regard.parts.blocks import Sublayers
from regard.parts.cache import KVCache
from regard.parts.masks import Mask


class TableBlock(Sublayers):
    def forward(
        self,
        x: Stream,
        mask: Mask | None = None,
        cache: KVCache | None = None,
        context: int | None = None,
        queries: int | None = None,
    ) -> Kept:
        """With `context`, all positions attend to the first so many (rows whose target is known), or to the cache.

        With `queries`, only the first so many positions attend and are returned (summary tokens of a row).
        """

        def look(h: Tensor) -> Tensor:
            everything = None if queries is None else h
            seen = everything if context is None else h[:, :context]
            return self.attend(h if queries is None else h[:, :queries], seen, mask, cache=cache)

        x = self.join_attend(x, look, queries)
        return x if self.join_feed is None else self.join_feed(x, self.feed)
