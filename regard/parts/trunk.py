"""The trunk: the settings that every transformer shares, and the stack of blocks that they describe."""

from collections.abc import Callable
from dataclasses import dataclass

from torch import nn

from regard.core.errors import MANY, ConfigError, at_least, at_most, share
from regard.core.model import ModelConfig
from regard.core.sizes import MAX_HEADS, MAX_WIDTH
from regard.parts.attention import Attention, Full
from regard.parts.blocks import Block, Stack, share_weights
from regard.parts.embedding_skip import EmbeddingSkip
from regard.parts.experts import Feed
from regard.parts.feed import GELU, NoFeed
from regard.parts.init import Init, XavierInit
from regard.parts.multihead import MultiHead, width_per_head
from regard.parts.norms import AcrossHeads, LayerNorm, Norm
from regard.parts.positions import NoPosition, Position, Rotary, Sinusoid
from regard.parts.residual_scale import ResidualScale
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
    query_norm: Norm | AcrossHeads | None = None  # of queries and keys, inside each head or over all heads
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
    alternate_position: Rotary | NoPosition | None = None  # of the same blocks, on queries and keys; None: `position`
    alternate_layers: tuple[int, ...] | None = None  # these blocks instead, counted from 0; None: every second
    distinct_layers: int | None = None  # blocks with weights of their own, repeated (Lan et al., 2020); None: all
    normed_input: bool = False  # what enters the stack is normed: the first attention reads it without another norm
    residual_scale: ResidualScale = 1.0  # what a block adds to the residual stream is multiplied with it
    position: Position = Sinusoid()
    embedding_skip: EmbeddingSkip | None = None  # each block reads a learned mix of the stream and the embedding

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(1, distinct_layers=self.distinct_layers)
        if self.alternate_layers is None:
            return
        if self.alternate is None and self.alternate_position is None:
            raise ConfigError("alternate_layers: needs alternate or alternate_position, which these blocks would have")
        if wrong := [layer for layer in self.alternate_layers if not 0 <= layer < self.layers]:
            raise ConfigError(f"alternate_layers: must be from 0 to {self.layers - 1}, not {wrong[0]}")

    def alternates(self, layer: int) -> bool:
        return bool(layer % 2) if self.alternate_layers is None else layer in self.alternate_layers

    def block(self, layer: int = 0, *, cross: bool = False) -> Block:
        """The block of this layer, counted from 0; with `cross` it reads a memory too."""
        attention = self.alternate if self.alternate is not None and self.alternates(layer) else self.attention
        block = self.wiring.block(
            self.width,
            attend=self.multihead(attention),
            feed=self.feed_forward(),
            norm=self.norm,
            dropout=self.dropout,
            cross=self.multihead(attention if attention.cross_attention else Full()) if cross else None,
            scale=self.residual_scale,
        )
        if self.normed_input and layer == 0:
            block.attend_norm = nn.Identity()
        return block

    def stack(
        self,
        *,
        causal: bool,
        cross: bool = False,
        layers: int | None = None,
        position: Position | None = None,
        embed_width: int | None = None,
    ) -> Stack:
        """The blocks in a row, with their position encoding; what that adds to tokens may have another width."""
        position, layers = position or self.position, layers or self.layers
        self._check("attention", self.attention, causal, position)
        if self.alternate is not None:
            self._check("alternate", self.alternate, causal, self.alternate_position or position)
        size = self.head_size or width_per_head(self.width, self.heads)
        encoding = position.build(embed_width or self.width, self.heads, size, causal)
        other = self.alternate_position
        blocks = [self.block(layer, cross=cross) for layer in range(layers)]
        for layer in range(self.distinct_layers or layers, layers):
            share_weights(blocks[layer % (self.distinct_layers or layers)], blocks[layer])
        return Stack(
            blocks,
            encoding,
            self.final_norm(),
            None if self.embedding_skip is None else self.embedding_skip.build(layers),
            None if other is None else other.build(self.width, self.heads, size, causal),
            frozenset(layer for layer in range(layers) if self.alternates(layer)),
        )

    @staticmethod
    def _check(name: str, attention: Attention, causal: bool, position: Position) -> None:
        kind = type(attention).__name__
        if causal and not attention.hides_future:
            raise ConfigError(f"{name}: {kind} cannot hide the future, and this model writes left to right")
        if position.relates and not attention.takes_bias:
            code = type(position).__name__
            raise ConfigError(f"position: {code} adds to the score of each key, and {kind} attention has none")
