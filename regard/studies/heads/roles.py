"""The role of a head: the share of its attention on positions that have a name (Clark et al., 2019).

Beside each share is that of uniform attention: a head that sees three tokens gives a third of its attention to the
previous one without preferring it.
"""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.core.shapes import Pattern, Tokens, Valid
from regard.data.trees.tree_positions import TokenTree

Targets = Bool[Tensor, "batch query key"]
Ids = Int[Tensor, "batch length"]
MIN_EXCESS = 0.25  # share beyond that of uniform attention for a head to be named by a role


def _shifted(tokens: Ids, by: int) -> Targets:
    position = torch.arange(tokens.shape[1])
    return (position[None, :] == position[:, None] + by)[None].expand(len(tokens), -1, -1)


def _first(tokens: Ids) -> Targets:
    first = torch.zeros(tokens.shape[1], tokens.shape[1], dtype=torch.bool)
    first[1:, 0] = True  # for the first token itself that is the role "itself"
    return first[None].expand(len(tokens), -1, -1)


def _same(tokens: Ids) -> Targets:
    return (tokens[:, :, None] == tokens[:, None, :]) & ~_shifted(tokens, 0)


ROLES: dict[str, Callable[[Ids], Targets]] = {
    "previous token": lambda tokens: _shifted(tokens, -1),
    "next token": lambda tokens: _shifted(tokens, 1),
    "itself": lambda tokens: _shifted(tokens, 0),
    "first token": _first,
    "same word elsewhere": _same,
}


def role_shares(
    pattern: Pattern, tokens: Tokens, valid: Valid, delimiters: Bool[Tensor, " vocab"]
) -> dict[str, tuple[Float[Tensor, " head"], float]]:
    """For each role the mean share of every head, and that of uniform attention.

    The mean is over queries that have such a key among those that they can see.
    """
    seen = (pattern.sum(1) > 0) & valid[:, None, :] & valid[:, :, None]
    uniform = seen / seen.sum(-1, keepdim=True).clamp(min=1)
    shares = {}
    delimiter = delimiters[tokens][:, None, :].expand_as(seen)
    for name, targets in [*((name, role(tokens)) for name, role in ROLES.items()), ("delimiter", delimiter)]:
        visible = targets & seen
        queries = visible.any(-1) & (seen.sum(-1) > 1)  # a query that sees a single key has no choice
        count = queries.sum().clamp(min=1)
        mass = (pattern * visible[:, None]).sum(-1) * queries[:, None]
        shares[name] = mass.sum((0, 2)) / count, float(((uniform * visible).sum(-1) * queries).sum() / count)
    return shares


def main_role(shares: dict[str, tuple[float, float]]) -> str:
    """The role with the largest excess over uniform attention, or "spread" if none is large."""
    name, (share, uniform) = max(shares.items(), key=lambda item: item[1][0] - item[1][1])
    return name if share - uniform >= MIN_EXCESS else "spread"


def word_pattern(
    pattern: Float[Tensor, "head query key"], tree: TokenTree, nodes: int
) -> Float[Tensor, "head from to"]:
    """Attention between words: summed over the tokens of a key, averaged over those of a query (Clark et al., 2019)."""
    member = torch.zeros(nodes, pattern.shape[-1])
    member[torch.tensor(tree.nodes), torch.arange(len(tree.nodes))] = 1.0
    mean = member / member.sum(1, keepdim=True).clamp(min=1)
    return mean @ pattern @ member.T
