"""Neighbours: every token is read together with those around it, by convolutions of a few sizes (Kim, 2014).

What a token means beside its neighbours is learned from far fewer texts than attention needs to find them.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.core.config import Config
from regard.core.errors import ConfigError, at_most
from regard.core.shapes import States, Valid
from regard.parts.linear import Linear

MAX_SIZE = 63


@dataclass(frozen=True)
class Neighbours(Config):
    """Phrases of each of these sizes are added to the embedding of the token in their middle."""

    sizes: tuple[int, ...] = (3, 5)  # tokens seen at once

    def __post_init__(self) -> None:
        if not self.sizes or any(size < 1 or size % 2 == 0 for size in self.sizes):
            raise ConfigError(f"sizes: must be odd numbers of tokens, such as 3,5, not {self.sizes}")
        at_most(MAX_SIZE, sizes=max(self.sizes))

    def build(self, width: int) -> "Phrases":
        return Phrases(width, self.sizes)


class Phrases(nn.Module):
    def __init__(self, width: int, sizes: tuple[int, ...]):
        super().__init__()
        self.filters = nn.ModuleDict({str(size): Linear(size * width, width) for size in sizes})

    def forward(self, states: States, valid: Valid | None) -> States:
        """What is added to the states; tokens that are not valid are read as zeros."""
        shown = states if valid is None else states * valid[:, :, None]
        added = [filters(_around(shown, int(size))).relu() for size, filters in self.filters.items()]
        return torch.stack(added).sum(0)


def _around(states: States, size: int) -> Tensor:
    """The states of the tokens from before to after each token, side by side."""
    length, side = states.shape[1], size // 2
    padded = F.pad(states, (0, 0, side, side))
    return torch.cat([padded[:, place : place + length] for place in range(size)], -1)
