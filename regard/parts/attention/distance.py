"""Attention by distance: the nearer a key, the larger its weight (Goldberger et al., 2004; Gorishniy et al., 2024).

The dot product rewards long keys; minus the distance rewards keys that are alike. Queries and keys must come from the
same projection, as in neighbourhood components analysis, for a query to be nearest to itself.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard.core.shapes import Keys, Output, Pattern, Queries, Values
from regard.parts.attention.base import Attention, AttentionConfig, Bias, everywhere, weigh
from regard.parts.masks import Mask

LEAST = 1e-6  # squared distance, so that the root has a gradient where a query equals a key


@dataclass(frozen=True)
class Distance(AttentionConfig):
    hides_future = True
    takes_bias = True
    cross_attention = True
    shift_invariant = True

    def build(self, heads: int, head_size: int) -> "DistanceAttention":
        return DistanceAttention(heads)


class DistanceAttention(Attention):
    """score(q, k) = −s ‖q − k‖, where each head learns its scale s."""

    def __init__(self, heads: int):
        super().__init__()
        self.log_scale = nn.Parameter(torch.zeros(heads, 1, 1))

    def forward(self, q: Queries, k: Keys, v: Values, mask: Mask | None = None, bias: Bias | None = None) -> Output:
        return self.watch(q, k, v, mask, bias)[0]

    def watch(
        self, q: Queries, k: Keys, v: Values, mask: Mask | None = None, bias: Bias | None = None
    ) -> tuple[Output, Pattern]:
        allowed, added = everywhere(q, k, mask, bias)
        scores = -_squared_distances(q, k).clamp(min=LEAST).sqrt() * self.log_scale.exp()
        pattern = weigh(scores if added is None else scores + added, allowed)
        return pattern @ v, pattern


def _squared_distances(q: Queries, k: Keys) -> Tensor:
    """By one matrix product, which is many times faster than the differences of all pairs."""
    lengths = q.square().sum(-1)[..., :, None] + k.square().sum(-1)[..., None, :]
    return lengths - 2 * q @ k.transpose(-2, -1)
