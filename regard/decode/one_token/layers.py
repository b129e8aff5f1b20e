"""Compiled steps with the weights of each layer, in the place of a stack's blocks."""

from collections.abc import Sequence
from typing import Any

import torch

from regard.core.shapes import States
from regard.parts.blocks import Stack
from regard.parts.cache import Cache
from regard.parts.masks import Causal, Mask
from regard.parts.positions import Positions


class CompiledLayers:
    def __init__(self, stack: Stack, packages: Sequence[Any], weights: Sequence[list[torch.Tensor]]):
        self.layers = list(zip(packages, weights, strict=True))
        self.skip = stack.embedding_skip
        self.taps = [block.attend.pattern for block in stack.blocks]

    def __call__(self, x: States, mask: Mask | None, positions: Positions | None, cache: Cache | None) -> States | None:
        """What the blocks give, or None where the inputs are others than those that they were compiled for."""
        if x.shape[:2] != (1, 1) or cache is None or positions is None or type(mask) is not Causal:
            return None
        if cache.layers[0].rows != 1 or x.dtype != torch.float32 or torch.is_grad_enabled():
            return None
        if any(tap.watched for tap in self.taps):
            return None
        rooms = [layer.extend() for layer in cache.layers]  # first, so that threads hardly wait between two layers
        index, embedding = positions.index, x
        for number, ((package, weights), room) in enumerate(zip(self.layers, rooms, strict=True)):
            if self.skip is not None:
                x = self.skip(x, embedding, number)
            [x] = package.boxed_run([x, index, *room, *weights])
        return x
