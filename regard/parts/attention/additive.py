"""Additive attention: a match is scored by a small network instead of a dot product (Bahdanau et al., 2015)."""

from dataclasses import dataclass

import torch
from torch import nn

from regard.core.shapes import Keys, Output, Pattern, Queries, Values
from regard.parts.attention.base import Attention, AttentionConfig, Bias, everywhere, weigh
from regard.parts.masks import Mask


@dataclass(frozen=True)
class Additive(AttentionConfig):
    hides_future = True
    takes_bias = True
    cross_attention = True
    shift_invariant = True

    def build(self, heads: int, head_size: int) -> "AdditiveAttention":
        return AdditiveAttention(heads, head_size)


class AdditiveAttention(Attention):
    """score(q, k) = w · tanh(q + k). The projections that make q and k are the network's first layer."""

    def __init__(self, heads: int, size: int):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(heads, 1, 1, size) * size**-0.5)

    def forward(self, q: Queries, k: Keys, v: Values, mask: Mask | None = None, bias: Bias | None = None) -> Output:
        return self.watch(q, k, v, mask, bias)[0]

    def watch(
        self, q: Queries, k: Keys, v: Values, mask: Mask | None = None, bias: Bias | None = None
    ) -> tuple[Output, Pattern]:
        allowed, added = everywhere(q, k, mask, bias)
        scores = (torch.tanh(q[..., :, None, :] + k[..., None, :, :]) * self.weight).sum(-1)
        pattern = weigh(scores if added is None else scores + added, allowed)
        return pattern @ v, pattern
