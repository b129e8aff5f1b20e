"""Counting the parameters of a model, and the floating-point operations (FLOPs) of a token."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from torch import nn

from regard.core.errors import ConfigError
from regard.core.model import outline_of
from regard.core.modules import RepeatedBlock
from regard.models import Model
from regard.parts import Attention, Full
from regard.parts.experts import MixtureOfExperts

BACKWARD = 2  # the backward pass costs two forward passes: gradients of the weights and of the inputs


@runtime_checkable
class Countable(Protocol):
    """What the count of FLOPs needs to know of a model: a stack of equal blocks over a vocabulary."""

    @property
    def vocab(self) -> int: ...
    @property
    def width(self) -> int: ...
    @property
    def layers(self) -> int: ...
    @property
    def heads(self) -> int: ...
    @property
    def head_size(self) -> int | None: ...
    @property
    def attention(self) -> Attention: ...
    @property
    def alternate(self) -> Attention | None: ...


@dataclass(frozen=True)
class ParameterCount:
    embedding: int  # token, bigram and position embeddings, and the output head
    other: int  # the N of scaling laws

    @property
    def total(self) -> int:
        return self.embedding + self.other


def count_parameters(config: Model) -> ParameterCount:
    model = outline_of(config)
    tables = {id(p) for m in model.modules() if isinstance(m, nn.Embedding) for p in m.parameters()}
    tables |= {id(p) for name, p in model.named_parameters() if name.startswith("embedding.")}
    parameters = list(model.parameters())
    embedding = sum(p.numel() for p in parameters if id(p) in tables)
    return ParameterCount(embedding, sum(p.numel() for p in parameters) - embedding)


def forward_flops(config: Model, length: int) -> int:
    """FLOPs of one token in a text of this length: matrix products, and every query with every key.

    As usual, norms and softmax are left out, and what a causal mask saves is not subtracted.
    """
    if not isinstance(config, Countable):
        raise ConfigError(f"model: FLOPs cannot be counted for {type(config).__name__}; choose GPT")
    if not isinstance(config.attention, Full) or config.alternate is not None:
        raise ConfigError(f"attention: FLOPs are counted for Full attention, not for {type(config.attention).__name__}")
    model = outline_of(config)
    matrices = sum(_matrix_flops(block) for block in model.modules() if isinstance(block, RepeatedBlock))
    head_size = config.head_size or config.width // config.heads
    scores = 2 * 2 * length * config.heads * head_size * config.layers  # queries × keys, then weights × values
    return matrices + scores + 2 * config.vocab * config.width


def training_flops(config: Model, length: int, tokens: int) -> float:
    return float((1 + BACKWARD) * forward_flops(config, length) * tokens)


def _matrix_flops(block: RepeatedBlock) -> int:
    """Two FLOPs per weight; of a mixture of experts only the active ones count."""
    total = 2 * sum(m.weight.numel() for m in block.modules() if isinstance(m, nn.Linear))
    for mixture in block.modules():
        if isinstance(mixture, MixtureOfExperts):
            experts = 2 * sum(m.weight.numel() for m in mixture.experts.modules() if isinstance(m, nn.Linear))
            total -= experts * (len(mixture.experts) - mixture.active) // len(mixture.experts)
    return total
