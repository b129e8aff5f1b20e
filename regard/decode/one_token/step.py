"""A block as a function of tensors: one token, the cached keys and values, and the weights, for any layer alike.

Weights are inputs, so one compilation serves all layers, and every model of the same shape.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.func import functional_call

from regard.decode.one_token.streamed import stream, tensors_of
from regard.models.gpt import GPTModel, LeftToRight
from regard.parts.blocks import Block, Context
from regard.parts.cache import KVCache
from regard.parts.masks import Causal
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
    """The output of a block for one more token, and its keys and values in the place that is left for them."""

    __call__: Callable[..., Tensor]

    def __init__(self, block: Block, position: nn.Module, precision: str):
        super().__init__()
        self.both = both(block, position)
        stream(self.both, precision)
        self.names = tuple(tensors_of(self.both, precision))

    def forward(self, x: Tensor, index: Tensor, keys: Tensor, values: Tensor, weights: list[Tensor]) -> Tensor:
        named = {f"both.{name}": weight for name, weight in zip(self.names, weights, strict=True)}
        called = functional_call(_Called(self.both), named, (x, index, keys, values))
        assert isinstance(called, Tensor)
        return called


def both(block: Block, position: nn.Module) -> nn.ModuleDict:
    return nn.ModuleDict({"block": block, "position": position})


class _Called(nn.Module):
    def __init__(self, both: nn.ModuleDict):
        super().__init__()
        self.both = both

    def forward(self, x: Tensor, index: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        position = self.both["position"]
        assert isinstance(position, PositionEncoding)
        context = Context(Causal(), position, Positions(index), cache=OpenCache(keys, values))
        output: Tensor = self.both["block"](x, context)
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


def example(config: LeftToRight, tokens: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Inputs of a step that brings this many tokens into the cache."""
    size = config.head_size or config.width // config.heads
    keys, values = torch.randn(2, 1, tokens, config.kv_heads or config.heads, size)
    return torch.randn(1, 1, config.width), torch.tensor([[tokens - 1]]), keys, values
