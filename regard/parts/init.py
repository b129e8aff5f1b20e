"""How weights are initialised: the variance of the states is kept through the layers of a deep stack."""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import nn

from regard.core.config import Config
from regard.parts.blocks import BlockParts


class InitConfig(Config):
    def residual_gain(self, branches: int) -> float:
        """What the output projections of a stack's residual branches are multiplied with."""
        raise NotImplementedError("abstract: how large the branches begin")


@dataclass(frozen=True)
class XavierInit(InitConfig):
    """Output projections are divided by the square root of the number of branches (Radford et al., 2019)."""

    def residual_gain(self, branches: int) -> float:
        return float(branches**-0.5)


@dataclass(frozen=True)
class ZeroInit(InitConfig):
    """Output projections begin at zero, and every block as the identity (Zhang et al., 2019)."""

    def residual_gain(self, branches: int) -> float:
        return 0.0


Init = XavierInit | ZeroInit


@torch.no_grad()
def init_weights(model: nn.Module, *stacks: Iterable[nn.Module], init: Init = XavierInit()) -> None:
    """Xavier-uniform matrices, small normal embeddings; output projections of blocks as `init` says."""
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)
    scaled: set[int] = set()  # blocks may share their weights
    for stack in stacks:
        blocks = [block for block in stack if isinstance(block, BlockParts)]
        gain = init.residual_gain(sum(block.branches for block in blocks)) if blocks else 1.0
        for block in blocks:
            for name, module in block.named_modules():
                if isinstance(module, nn.Linear) and name.endswith(("out", "down")) and id(module.weight) not in scaled:
                    module.weight.mul_(gain)
                    scaled.add(id(module.weight))
