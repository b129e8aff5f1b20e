"""The trunk: the settings that every transformer shares, and the stack of blocks that they describe."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from torch import nn

from regard.core.errors import MANY, ConfigError, at_least, at_most, share
from regard.parts.attention import Attention, Full
from regard.parts.blocks import Block, Stack, Sublayers
from regard.parts.experts import Feed
from regard.parts.feed import GELU
from regard.parts.multihead import MultiHead, width_per_head
from regard.parts.norms import LayerNorm, Norm
from regard.parts.positions import Position, Sinusoid
from regard.parts.table_block import TableBlock
from regard.parts.wiring import PreNorm, Wiring

Kind = TypeVar("Kind", bound=Sublayers)


@dataclass(frozen=True, kw_only=True)
class Trunk:
    width: int = 128
    layers: int = 4
    heads: int = 4
    kv_heads: int | None = None  # None: as many as heads; fewer share keys and values in groups
    head_size: int | None = None  # of a head; None: width divided among the heads
    attention: Attention = Full()
    alternate: Attention | None = None  # in every second block, in place of `attention` (Liu et al., 2018)
    position: Position = Sinusoid()
    feed: Feed = GELU()
    norm: Norm = LayerNorm()
    query_norm: Norm | None = None  # on queries and keys, inside each head
    wiring: Wiring = PreNorm()
    dropout: float = 0.1
    bias: bool = True  # of the linear layers
    query_bias: bool | None = None  # of queries, keys and values; None: as `bias`
    feed_bias: bool | None = None  # of the feed-forward; None: as `bias`
    recall: bool = False  # each block reads a learned mix of the stream and of the embedding
    quiet: bool = False  # what blocks add begins at nothing

    def __post_init__(self) -> None:
        at_least(
            1, width=self.width, layers=self.layers, heads=self.heads, kv_heads=self.kv_heads, head_size=self.head_size
        )
        at_most(MANY, layers=self.layers)
        share(dropout=self.dropout)
        if self.head_size is None:
            width_per_head(self.width, self.heads)
        if self.kv_heads is not None and self.heads % self.kv_heads:
            raise ConfigError(f"kv_heads: heads {self.heads} is not divisible by {self.kv_heads}")

    def block(self, number: int = 0, *, cross: bool = False) -> Block:
        """The block that stands at this place of a row, counted from 0; with `cross` one that reads a memory."""
        return self._made_of(Block, number, cross)

    def table_block(self, number: int = 0, heads: Callable[..., MultiHead] = MultiHead) -> TableBlock:
        return self._made_of(TableBlock, number, heads=heads)

    def _made_of(
        self, kind: type[Kind], number: int, cross: bool = False, heads: Callable[..., MultiHead] = MultiHead
    ) -> Kind:
        attention = self.alternate if self.alternate is not None and number % 2 else self.attention
        return kind(
            self.width,
            attend=self._heads(attention, heads),
            feed=self.feed.build(self.width, self.bias if self.feed_bias is None else self.feed_bias),
            norm=self.norm,
            wiring=self.wiring,
            dropout=self.dropout,
            cross=self._heads(attention if attention.looks_across else Full()) if cross else None,
        )

    def stack(
        self, *, causal: bool, cross: bool = False, layers: int | None = None, position: Position | None = None
    ) -> Stack:
        """Blocks in a row with their position code."""
        position = position or self.position
        self._check("attention", self.attention, causal, position)
        if self.alternate is not None:
            self._check("alternate", self.alternate, causal, position)
        size = self.head_size or width_per_head(self.width, self.heads)
        code = position.build(self.width, self.heads, size, causal)
        blocks = [self.block(number, cross=cross) for number in range(layers or self.layers)]
        return Stack(blocks, code, self.last_norm(), self.recall)

    def last_norm(self) -> nn.Module:
        """What ends a row of blocks: pre-norm blocks leave their sum unnormed."""
        return self.norm.build(self.width) if self.wiring.ends_with_norm else nn.Identity()

    @staticmethod
    def _check(name: str, attention: Attention, causal: bool, position: Position) -> None:
        kind = type(attention).__name__
        if causal and not attention.hides_future:
            raise ConfigError(f"{name}: {kind} cannot hide the future, and this model writes left to right")
        if position.relates and not attention.takes_bias:
            code = type(position).__name__
            raise ConfigError(f"position: {code} adds to the score of each key, and {kind} attention has none")

    def _heads(self, attention: Attention, kind: Callable[..., MultiHead] = MultiHead) -> MultiHead:
        return kind(
            self.width,
            self.heads,
            attention,
            kv_heads=self.kv_heads,
            head_size=self.head_size,
            norm=self.query_norm,
            bias=self.bias if self.query_bias is None else self.query_bias,
            out_bias=self.bias,
        )
