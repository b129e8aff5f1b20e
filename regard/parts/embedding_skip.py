"""Embedding skip: every block reads a learned mix of the residual stream and the embedding (Jordan et al., 2024)."""

from dataclasses import dataclass

import torch
from torch import nn

from regard.core.config import Config
from regard.core.shapes import States


@dataclass(frozen=True)
class EmbeddingSkip(Config):
    def build(self, layers: int) -> "EmbeddingMix":
        return EmbeddingMix(layers)


class EmbeddingMix(nn.Module):
    """Two weights a layer, which start at the stream alone."""

    def __init__(self, layers: int):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([1.0, 0.0]).repeat(layers, 1))

    def forward(self, x: States, embedding: States, layer: int) -> States:
        return self.weight[layer, 0] * x + self.weight[layer, 1] * embedding
