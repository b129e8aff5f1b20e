"""Learned positions: a vector for each place, and none beyond the end of the table (Gehring et al., 2017)."""

from dataclasses import dataclass

import torch
from torch import nn

from regard.core.errors import ConfigError, at_least, at_most
from regard.core.shapes import States
from regard.core.sizes import MAX_LENGTH
from regard.parts.positions.base import PositionConfig, PositionEncoding, Positions


@dataclass(frozen=True)
class Learned(PositionConfig):
    length: int = 512
    relates = False

    def __post_init__(self) -> None:
        at_least(1, length=self.length)
        at_most(MAX_LENGTH, length=self.length)

    def build(self, width: int, heads: int, head_size: int, causal: bool) -> "LearnedEncoding":
        return LearnedEncoding(self.length, width)


class LearnedEncoding(PositionEncoding):
    def __init__(self, length: int, width: int):
        super().__init__()
        self.table = nn.Embedding(length, width)
        self.max_length = length

    def embed(self, x: States, positions: Positions) -> States:
        length = self.table.num_embeddings
        if not torch.compiler.is_compiling() and (needed := int(positions.index.max()) + 1) > length:
            raise ConfigError(
                f"the text has {needed} positions, the table of positions {length}: raise position.length"
            )
        embedded: States = x + self.table(positions.index)
        return embedded
