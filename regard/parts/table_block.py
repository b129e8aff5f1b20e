"""Transformer blocks of tables: rows of a table and cells of a row have no order, and only some are attended to."""

from collections.abc import Callable
from dataclasses import dataclass

from regard.core.shapes import Selected, Stream
from regard.parts.attention import Attention
from regard.parts.blocks import Block, Context
from regard.parts.multihead import MultiHead
from regard.parts.trunk import Trunk


@dataclass(frozen=True)
class TableContext(Context):
    """What rows or cells attend to, and which of them do."""

    known: int | None = None  # all attend to the first so many (rows whose target is known), or to the cache
    queries: int | None = None  # only the first so many attend and are passed on (summary tokens of a row)

    def selected(self, x: Stream) -> Selected:
        return x[:, : self.queries]

    def self_attention(self, attend: MultiHead, x: Stream) -> Selected:
        everything = None if self.queries is None else x
        keys = everything if self.known is None else x[:, : self.known]
        return attend(self.selected(x), keys, self.mask, cache=self.cache)


def table_block(
    config: Trunk, attention: Attention | None = None, heads: Callable[..., MultiHead] = MultiHead
) -> Block:
    """A block with the settings of `config`, and another attention where one is given; `heads` builds its MultiHead."""
    attend = config.multihead(attention or config.attention, heads)
    return config.wiring.block(config.width, attend, config.feed_forward(), config.norm, config.dropout)
