"""Blocks and stacks: attention, then feed-forward, again and again (Vaswani et al., 2017)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from torch import Tensor, nn

from regard.core.modules import RepeatedBlock
from regard.core.shapes import Memory, Selected, States, Stream
from regard.parts.cache import Cache, KVCache
from regard.parts.dropout import Dropout
from regard.parts.embedding_skip import EmbeddingMix
from regard.parts.masks import Mask
from regard.parts.multihead import MultiHead
from regard.parts.norms import Norm
from regard.parts.positions import PositionEncoding, Positions
from regard.parts.residual_scale import ResidualScale, build_scale


class BlockParts(RepeatedBlock):
    """The parts of a block: self-attention, optional cross-attention, optional feed-forward; a norm for each."""

    def __init__(
        self,
        width: int,
        attend: MultiHead,
        feed: nn.Module | None,
        norm: Norm,
        dropout: float = 0.0,
        cross: MultiHead | None = None,
        scale: ResidualScale = 1.0,
    ):
        super().__init__()
        self.attend, self.cross, self.feed = attend, cross, feed
        self.attend_norm = norm.build(width)
        self.cross_norm = nn.Identity() if cross is None else norm.build(width)
        self.feed_norm = nn.Identity() if feed is None else norm.build(width)
        self.attend_scale = build_scale(scale, width)
        self.cross_scale = nn.Identity() if cross is None else build_scale(scale, width)
        self.feed_scale = nn.Identity() if feed is None else build_scale(scale, width)
        self.drop = Dropout(dropout)

    @property
    def branches(self) -> int:
        """How many times the block adds to the residual stream."""
        return 2 + (self.cross is not None)


@dataclass(frozen=True)
class Context:
    """What the attentions of a block read beside the states: masks, positions, the memory, the caches of its layer."""

    mask: Mask | None = None
    position: PositionEncoding | None = None
    positions: Positions | None = None
    memory: Memory | None = None
    memory_mask: Mask | None = None
    cache: KVCache | None = None
    memory_cache: KVCache | None = None

    def selected(self, x: Stream) -> Selected:
        """The states that a block passes on: all of them."""
        return x

    def self_attention(self, attend: MultiHead, x: Stream) -> Selected:
        """What the selected states find."""
        return attend(x, None, self.mask, self.position, self.positions, self.cache)

    def cross_attention(self, cross: MultiHead, x: Stream) -> Stream:
        return cross(x, self.memory, self.memory_mask, cache=self.memory_cache)


class Block(BlockParts):
    """One signature for every way of wiring a block (`regard.parts.wiring`), and what its branches give."""

    def forward(self, x: Stream, context: Context = Context()) -> Selected:
        raise NotImplementedError("abstract: how the branches join the residual stream")

    def attended(self, x: Stream, context: Context) -> Selected:
        branch: Tensor = self.drop(self.attend_scale(context.self_attention(self.attend, x)))
        return branch

    def crossed(self, cross: MultiHead, x: Stream, context: Context) -> Stream:
        branch: Tensor = self.drop(self.cross_scale(context.cross_attention(cross, x)))
        return branch

    def fed(self, feed: nn.Module, x: Stream) -> Stream:
        branch: Tensor = self.drop(self.feed_scale(feed(x)))
        return branch


class PreNormBlock(Block):
    def forward(self, x: Stream, context: Context = Context()) -> Selected:
        x = context.selected(x) + self.attended(self.attend_norm(x), context)
        if self.cross is not None:
            x = x + self.crossed(self.cross, self.cross_norm(x), context)
        return x if self.feed is None else x + self.fed(self.feed, self.feed_norm(x))


class PostNormBlock(Block):
    def forward(self, x: Stream, context: Context = Context()) -> Selected:
        x = self.attend_norm(context.selected(x) + self.attended(x, context))
        if self.cross is not None:
            x = self.cross_norm(x + self.crossed(self.cross, x, context))
        return x if self.feed is None else self.feed_norm(x + self.fed(self.feed, x))


class NoResidualBlock(Block):
    def forward(self, x: Stream, context: Context = Context()) -> Selected:
        x = self.attended(self.attend_norm(x), context)
        if self.cross is not None:
            x = self.crossed(self.cross, self.cross_norm(x), context)
        return x if self.feed is None else self.fed(self.feed, self.feed_norm(x))


CompiledBlocks = Callable[[States, Mask | None, Positions | None, Cache | None], States | None]


def share_weights(source: nn.Module, other: nn.Module) -> None:
    """Make two modules of the same shape one in their weights; each keeps its own taps."""
    for path, module in source.named_modules():
        twin = other.get_submodule(path)
        twin._parameters.update(module._parameters)
        twin._buffers.update(module._buffers)


class Stack(nn.Module):
    """Blocks in a row, named by their numbers, with the position encoding that they share and a final norm."""

    __call__: Callable[..., Tensor]
    compiled: CompiledBlocks | None = None  # a faster form of the blocks, for the inputs that it takes

    def __init__(
        self,
        blocks: Sequence[Block],
        position: PositionEncoding,
        norm: nn.Module,
        embedding_skip: EmbeddingMix | None = None,
        alternate_position: PositionEncoding | None = None,
        alternate_layers: frozenset[int] = frozenset(),
    ):
        """Blocks of `alternate_layers` have the alternate position encoding, where there is one."""
        super().__init__()
        self.embedding_skip = embedding_skip
        self.alternate_position, self.alternate_layers = alternate_position, alternate_layers
        self.position = position
        for layer, block in enumerate(blocks):
            self.add_module(str(layer), block)
        self.norm = norm

    @property
    def blocks(self) -> list[Block]:
        return [module for module in self.children() if isinstance(module, Block)]

    def forward(
        self,
        x: States,
        mask: Mask | None = None,
        positions: Positions | None = None,
        memory: Memory | None = None,
        memory_mask: Mask | None = None,
        cache: Cache | None = None,
    ) -> States:
        """`x` already carries what the position encoding adds to it: a model may norm or extend it in between."""
        through = None if self.compiled is None or memory is not None else self.compiled(x, mask, positions, cache)
        if through is None:
            through = self._through_blocks(x, Context(mask, self.position, positions, memory, memory_mask), cache)
        output: Tensor = self.norm(through)
        return output

    def _through_blocks(self, x: States, context: Context, cache: Cache | None) -> States:
        embedding = x
        for layer, block in enumerate(self.blocks):
            if self.embedding_skip is not None:
                x = self.embedding_skip(x, embedding, layer)
            if self.alternate_position is not None:
                turned = self.alternate_position if layer in self.alternate_layers else self.position
                context = replace(context, position=turned)
            if cache is not None:
                context = replace(context, cache=cache.layers[layer], memory_cache=cache.memory[layer])
            x = block(x, context)
        return x
