"""The trunk: the settings that every transformer shares, and the stack of blocks that they describe."""

from collections.abc import Callable
from dataclasses import dataclass

from torch import nn

from regard.core.errors import MANY, ConfigError, at_least, at_most, share
from regard.core.model import ModelConfig
from regard.core.sizes import MAX_HEADS, MAX_WIDTH
from regard.parts.attention import Attention, Full
from regard.parts.blocks import Block, Stack
from regard.parts.embedding_skip import EmbeddingSkip
from regard.parts.experts import Feed
from regard.parts.feed import GELU, NoFeed
from regard.parts.init import Init, XavierInit
from regard.parts.multihead import MultiHead, width_per_head
from regard.parts.norms import LayerNorm, Norm
from regard.parts.positions import Position, Sinusoid
from regard.parts.wiring import PreNorm, Wiring


@dataclass(frozen=True, kw_only=True)
class Trunk(ModelConfig):
    """What every stack of blocks has, whatever the blocks read: a text, an image or a table."""

    width: int = 128
    layers: int = 4
    heads: int = 4
    kv_heads: int | None = None  # None: as many as heads; fewer share keys and values in groups
    head_size: int | None = None  # None: the width divided by the heads
    attention: Attention = Full()
    feed: Feed = GELU()
    norm: Norm = LayerNorm()
    query_norm: Norm | None = None  # of queries and keys, inside each head
    wiring: Wiring = PreNorm()
    dropout: float = 0.1
    bias: bool = True  # of the linear layers
    query_bias: bool | None = None  # of queries, keys and values; None: as `bias`
    feed_bias: bool | None = None  # of the feed-forward; None: as `bias`
    init: Init = XavierInit()  # of the output projections

    def __post_init__(self) -> None:
        at_least(1, width=self.width, layers=self.layers, heads=self.heads)
        at_least(1, kv_heads=self.kv_heads, head_size=self.head_size)
        at_most(MANY, layers=self.layers)
        at_most(MAX_WIDTH, width=self.width, head_size=self.head_size)
        at_most(MAX_HEADS, heads=self.heads)
        share(dropout=self.dropout)
        if self.head_size is None:
            width_per_head(self.width, self.heads)
        if self.kv_heads is not None and self.heads % self.kv_heads:
            raise ConfigError(f"kv_heads: heads {self.heads} is not divisible by {self.kv_heads}")

    def multihead(self, attention: Attention, kind: Callable[..., MultiHead] = MultiHead) -> MultiHead:
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

    def feed_forward(self) -> nn.Module | None:
        bias = self.bias if self.feed_bias is None else self.feed_bias
        return None if isinstance(self.feed, NoFeed) else self.feed.build(self.width, bias)

    def final_norm(self) -> nn.Module:
        """The end of a stack: pre-norm blocks leave the residual stream unnormed."""
        return self.norm.build(self.width) if self.wiring.ends_with_norm else nn.Identity()


@dataclass(frozen=True, kw_only=True)
class SequenceTrunk(Trunk):
    """A stack of blocks that reads tokens in an order."""

    alternate: Attention | None = None  # in every second block, in place of `attention` (Liu et al., 2018)
    position: Position = Sinusoid()
    embedding_skip: EmbeddingSkip | None = None  # each block reads a learned mix of the stream and the embedding

    def block(self, layer: int = 0, *, cross: bool = False) -> Block:
        """The block of this layer, counted from 0; with `cross` it reads a memory too."""
        attention = self.alternate if self.alternate is not None and layer % 2 else self.attention
        return self.wiring.block(
            self.width,
            attend=self.multihead(attention),
            feed=self.feed_forward(),
            norm=self.norm,
            dropout=self.dropout,
            cross=self.multihead(attention if attention.cross_attention else Full()) if cross else None,
        )

    def stack(
        self, *, causal: bool, cross: bool = False, layers: int | None = None, position: Position | None = None
    ) -> Stack:
        """The blocks in a row, with their position encoding."""
        position, layers = position or self.position, layers or self.layers
        self._check("attention", self.attention, causal, position)
        if self.alternate is not None:
            self._check("alternate", self.alternate, causal, position)
        size = self.head_size or width_per_head(self.width, self.heads)
        encoding = position.build(self.width, self.heads, size, causal)
        blocks = [self.block(layer, cross=cross) for layer in range(layers)]
        skip = None if self.embedding_skip is None else self.embedding_skip.build(layers)
        return Stack(blocks, encoding, self.final_norm(), skip)

    @staticmethod
    def _check(name: str, attention: Attention, causal: bool, position: Position) -> None:
        kind = type(attention).__name__
        if causal and not attention.hides_future:
            raise ConfigError(f"{name}: {kind} cannot hide the future, and this model writes left to right")
        if position.relates and not attention.takes_bias:
            code = type(position).__name__
            raise ConfigError(f"position: {code} adds to the score of each key, and {kind} attention has none")
