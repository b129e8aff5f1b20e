"""Compiled steps with the weights of each layer, in the place of a stack's blocks."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from regard.core.shapes import States
from regard.decode.one_token.weights import Texts
from regard.parts.blocks import Stack
from regard.parts.cache import Cache
from regard.parts.masks import Both, Causal, From, Mask
from regard.parts.positions import Positions


class CompiledLayers:
    def __init__(self, stack: Stack, packages: Sequence[Any], weights: Sequence[list[Tensor]]):
        self.layers = list(zip(packages, weights, strict=True))
        self.skip = stack.embedding_skip

    def __call__(self, x: States, positions: Positions, cache: Cache) -> States:
        """What the blocks give."""
        rooms = [layer.extend() for layer in cache.layers]  # first, so that threads hardly wait between two layers
        index, more = positions.index, []
        if len(x) > 1:
            rooms = [layer.rooms() for layer in cache.layers]
            starts = torch.zeros(len(x), dtype=torch.long) if cache.starts is None else cache.starts
            index, more = index.expand(len(x), -1).contiguous(), [starts, torch.arange(cache.length)]
        embedding = x
        for number, ((package, weights), room) in enumerate(zip(self.layers, rooms, strict=True)):
            if self.skip is not None:
                x = self.skip(x, embedding, number)
            [x] = package.boxed_run([x, index, *room, *more, *weights])
        return x


def form_of(x: States, mask: Mask | None, positions: Positions | None, cache: Cache) -> Texts | None:
    """For how many texts these inputs are, or None if they are not one more token of each, with nothing unusual."""
    if x.shape[1] != 1 or positions is None or x.dtype != torch.float32 or torch.is_grad_enabled():
        return None
    if cache.layers[0].rows != len(x) or cache.beams > 1 or not _usual(mask, cache.starts):
        return None
    return "one" if len(x) == 1 and cache.starts is None else "several" if len(x) > 1 else None


def _usual(mask: Mask | None, starts: Tensor | None) -> bool:
    """Whether each text may look at all of its own tokens."""
    if starts is None:
        return type(mask) is Causal
    return isinstance(mask, Both) and type(mask.one) is Causal and type(mask.other) is From
