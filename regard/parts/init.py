"""How weights begin: variance kept through the layers, and quiet branches at the start of a deep stack."""

from collections.abc import Iterable

import torch
from torch import nn

from regard.parts.blocks import Sublayers


@torch.no_grad()
def init_weights(model: nn.Module, *streams: Iterable[nn.Module], quiet: bool = False) -> None:
    """Xavier matrices and small tables; what the blocks of a stream add is divided by the root of their number.

    With `quiet` it begins at nothing, and every block learns what it is for.
    """
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)
    for stream in streams:
        blocks = [block for block in stream if isinstance(block, Sublayers)]
        branches = sum(3 if block.cross is not None else 2 for block in blocks)
        for block in blocks:
            for name, module in block.named_modules():
                if isinstance(module, nn.Linear) and name.endswith(("out", "down")):
                    module.weight.mul_(0 if quiet else branches**-0.5)
