"""What every attention is: a soft lookup of queries among keys, answering with values."""

from collections.abc import Callable
from typing import ClassVar, Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.core.config import Config
from regard.core.shapes import Keys, Output, Pattern, Queries, Values
from regard.parts.masks import Allowed, Index, Mask


@runtime_checkable  # so that tests can check it
class Bias(Protocol):
    """A term that a position code adds to the scores, asked only where an attention looks."""

    def at(self, q: Float[Tensor, "batch heads *query size"], query: Index, key: Index) -> Float[Tensor, "..."]:
        """Scores to add, shaped (batch or 1, heads or 1) and then as `query` and `key` broadcast."""


class AttentionConfig(Config):
    hides_future: ClassVar[bool]  # whether it can be causal
    takes_bias: ClassVar[bool]  # whether a position encoding may add to its scores
    cross_attention: ClassVar[bool]  # whether it can be cross-attention, where queries and keys are of different texts
    shift_invariant: ClassVar[bool] = False  # whether only distances matter: keys may then begin anywhere in a row

    def build(self, heads: int, head_size: int) -> "Attention":
        raise NotImplementedError("abstract: a config builds its attention")


class Attention(nn.Module):
    """One signature for every variant. Fewer queries than keys are the last ones: a cache holds what came before."""

    __call__: Callable[..., Tensor]

    def forward(self, q: Queries, k: Keys, v: Values, mask: Mask | None = None, bias: Bias | None = None) -> Output:
        """What each query found, by the fastest way this variant knows."""
        raise NotImplementedError("abstract: an attention looks things up")

    def watch(
        self, q: Queries, k: Keys, v: Values, mask: Mask | None = None, bias: Bias | None = None
    ) -> tuple[Output, Pattern]:
        """The same, with the pattern of weights that led to it."""
        raise NotImplementedError("abstract: an attention shows where it looked")


def hide(scores: Tensor, allowed: Tensor | None) -> Tensor:
    """Scores with minus infinity where a query may not look: the only minus infinity in the package."""
    return scores if allowed is None else scores.masked_fill(~allowed, -torch.inf)


def weigh(scores: Tensor, allowed: Tensor | None) -> Tensor:
    """Scores to weights that sum to one; a query that may look at nothing gets zeros, not an error."""
    if allowed is None:
        return scores.softmax(-1)
    sees_something = allowed.any(-1, keepdim=True)
    return hide(scores, allowed | ~sees_something).softmax(-1) * sees_something


def everywhere(q: Queries, k: Keys, mask: Mask | None, bias: Bias | None) -> tuple[Allowed | None, Tensor | None]:
    """Mask and bias for every pair of query and key; None where there is nothing to say.

    They are written out, but for a mask that is the same for all queries: it is asked for one.
    """
    if mask is None and bias is None:
        return None, None
    queries, keys = q.shape[-2], k.shape[-2]
    query = torch.arange(keys - queries, keys, device=q.device)[:, None]
    key = torch.arange(keys, device=q.device)[None, :]
    asks = query[-1:] if mask is not None and mask.same_for_all else query
    allowed = None if mask is None else mask.at(asks, key)[:, None]
    return allowed, None if bias is None else bias.at(q, query, key)
