"""Blocks of tables: the rows of a table, or the cells of a row, have no order, and not all of them are looked at."""

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
        only: int | None = None,
    ) -> Kept:
        """With a `context` all look at the first so many, such as the rows whose target is known, or at the cache.

        With `only` the first so many look and go on, such as the summaries of a row; the others are only looked at.
        """

        def look(h: Tensor) -> Tensor:
            everything = None if only is None else h
            seen = everything if context is None else h[:, :context]
            return self.attend(h if only is None else h[:, :only], seen, mask, cache=cache)

        x = self.join_attend(x, look, only)
        return x if self.join_feed is None else self.join_feed(x, self.feed)
