"""A block as a function of tensors: one token of each text, the cached keys and values, and the weights.

Weights are inputs, so one compilation serves all layers, and every model of the same shape. There are two forms of it:
for one text, and for several that may begin at different places of their caches.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.func import functional_call

from regard.decode.one_token.weights import Texts, convert, tensors_of
from regard.models.gpt import GPTModel, LeftToRight
from regard.parts.blocks import Block, Context
from regard.parts.cache import KVCache
from regard.parts.masks import Causal, From, Mask
from regard.parts.positions import PositionEncoding, Positions


class OpenCache(KVCache):
    """A cache whose last token is still empty, and filled by `append`."""

    def __init__(self, keys: Tensor, values: Tensor):
        self.keys, self.values = keys, values
        self.length = keys.shape[1] - 1

    def append(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        self.keys[:, self.length :] = keys.transpose(1, 2)
        self.values[:, self.length :] = values.transpose(1, 2)
        return self.stored()

    def stored(self) -> tuple[Tensor, Tensor]:
        return self.keys.transpose(1, 2), self.values.transpose(1, 2)


class BlockStep(nn.Module):
    """The output of a block for one more token, and its keys and values in the place that is left for them.

    Of one text, `keys` and `values` are those of its tokens. Of several they are the whole memory of the cache, which
    has a place for each of the `places` and more, and each text begins at its own start.
    """

    __call__: Callable[..., Tensor]

    def __init__(self, block: Block, position: nn.Module, precision: str, texts: Texts):
        super().__init__()
        self.both = both(block, position)
        convert(self.both, precision, texts)
        self.names = tuple(tensors_of(self.both, precision, texts))

    def forward(
        self,
        x: Tensor,
        index: Tensor,
        keys: Tensor,
        values: Tensor,
        weights: list[Tensor],
        starts: Tensor | None = None,
        places: Tensor | None = None,
    ) -> Tensor:
        mask: Mask = Causal()
        if starts is not None and places is not None:
            mask = mask & From(starts)
            tokens = places.shape[0]
            torch._check(tokens <= keys.shape[1])
            keys, values = keys[:, :tokens], values[:, :tokens]
        named = {f"both.{name}": weight for name, weight in zip(self.names, weights, strict=True)}
        called = functional_call(_Called(self.both), named, (x, index, mask, OpenCache(keys, values)))
        assert isinstance(called, Tensor)
        return called


def both(block: Block, position: nn.Module) -> nn.ModuleDict:
    return nn.ModuleDict({"block": block, "position": position})


class _Called(nn.Module):
    def __init__(self, both: nn.ModuleDict):
        super().__init__()
        self.both = both

    def forward(self, x: Tensor, index: Tensor, mask: Mask, cache: OpenCache) -> Tensor:
        position = self.both["position"]
        assert isinstance(position, PositionEncoding)
        output: Tensor = self.both["block"](x, Context(mask, position, Positions(index), cache=cache))
        return output


def kind_of(config: LeftToRight, layer: int) -> int:
    """The first layer that is computed as this one is, with other weights."""
    other = config.alternate is not None or config.alternate_position is not None
    alternates = other and config.alternates(layer)
    if config.normed_input and layer == 0:
        return 0
    first = 1 if config.normed_input else 0
    return next(each for each in range(first, layer + 1) if (other and config.alternates(each)) == alternates)


def position_of(model: GPTModel, layer: int) -> PositionEncoding:
    stack = model.decoder
    if stack.alternate_position is not None and layer in stack.alternate_layers:
        return stack.alternate_position
    return stack.position


def example(config: LeftToRight, texts: Texts, tokens: int) -> dict[str, Tensor]:
    """Inputs of a step that brings this many tokens into the cache: all but the weights, which come last."""
    size = config.head_size or config.width // config.heads
    rows, room = (1, tokens) if texts == "one" else (3, tokens + 24)
    keys, values = torch.randn(2, rows, room, config.kv_heads or config.heads, size)
    index = torch.full((rows, 1), tokens - 1)
    inputs = {"x": torch.randn(rows, 1, config.width), "index": index, "keys": keys, "values": values}
    if texts == "several":
        starts = torch.randint(0, tokens, (rows,))
        inputs |= {"index": index - starts[:, None], "starts": starts, "places": torch.arange(tokens)}
    return inputs
