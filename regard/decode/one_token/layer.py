"""A compiled step with the weights of one layer, in the place of the layer's own `forward`."""

from typing import Any

import torch
from torch import Tensor

from regard.core.shapes import States
from regard.parts.blocks import Block, Context
from regard.parts.masks import Causal


class CompiledLayer:
    def __init__(self, package: Any, block: Block, weights: list[Tensor]):
        self.package, self.weights = package, weights
        self.watched = block.attend.pattern

    def __call__(self, x: States, context: Context) -> States | None:
        """The output of the block, or None where the inputs are others than those that it was compiled for."""
        cache = context.cache
        if x.shape[:2] != (1, 1) or cache is None or cache.rows != 1 or type(context.mask) is not Causal:
            return None
        if self.watched.watched or torch.is_grad_enabled() or x.dtype != torch.float32 or context.positions is None:
            return None
        keys, values = cache.extend()
        output: Tensor
        [output] = self.package.boxed_run([x, context.positions.index, keys, values, *self.weights])
        return output
