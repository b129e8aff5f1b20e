"""Counting: the parameters of a model, and the floating-point operations of a token."""

from dataclasses import dataclass

import torch
from torch import nn

from regard.core.errors import ConfigError
from regard.core.modules import RepeatedBlock
from regard.models import GPT
from regard.parts import Full
from regard.parts.experts import MixtureOfExperts

BACKWARD = 2  # a step's way back costs twice its way forward: a product for the weights and one for what came in


@dataclass(frozen=True)
class Count:
    embedding: int  # tables of words, pairs and places, and the head that scores words
    rest: int  # what is computed with: the number that laws are about

    @property
    def all(self) -> int:
        return self.embedding + self.rest


def count_parameters(config: GPT) -> Count:
    model = _outline(config)
    tables = {id(p) for m in model.modules() if isinstance(m, nn.Embedding) for p in m.parameters()}
    tables |= {id(p) for name, p in model.named_parameters() if name.startswith("words.")}
    every = list(model.parameters())
    embedding = sum(p.numel() for p in every if id(p) in tables)
    return Count(embedding, sum(p.numel() for p in every) - embedding)


def forward_flops(config: GPT, length: int) -> int:
    """Of one token in a text of this length: products of matrices, and every query with every key.

    Norms, softmax and the like are left out, as everybody does. What a causal mask spares is not taken off: the usual
    count, and a kernel's own affair.
    """
    if not isinstance(config.attention, Full) or config.alternate is not None:
        raise ConfigError(f"attention: operations are counted for Full, not for {type(config.attention).__name__}")
    model = _outline(config)
    matrices = sum(_matrices(block) for block in model.modules() if isinstance(block, RepeatedBlock))
    size = config.head_size or config.width // config.heads
    looks = 2 * 2 * length * config.heads * size * config.layers  # queries with keys, then weights with values
    return matrices + looks + 2 * config.vocab * config.width


def training_flops(config: GPT, length: int, tokens: int) -> float:
    return float((1 + BACKWARD) * forward_flops(config, length) * tokens)


def _matrices(block: RepeatedBlock) -> int:
    """Two operations a weight; of experts only those that a token visits."""
    total = 2 * sum(m.weight.numel() for m in block.modules() if isinstance(m, nn.Linear))
    for mixture in block.modules():
        if isinstance(mixture, MixtureOfExperts):
            inside = 2 * sum(m.weight.numel() for m in mixture.experts.modules() if isinstance(m, nn.Linear))
            total -= inside * (len(mixture.experts) - mixture.active) // len(mixture.experts)
    return total


def _outline(config: GPT) -> nn.Module:
    with torch.device("meta"):
        return config.build()
