"""What a head looks at: the share of its attention that falls on places which people have names for.

Beside each share stands what a head would give that looked at all it may alike: a head that sees three tokens gives a
third to the one before it without meaning anything.
"""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.core.shapes import Pattern, Tokens, Valid
from regard.data.trees.tree_positions import TokenTree

Places = Bool[Tensor, "batch query key"]
Ids = Int[Tensor, "batch length"]
OTHER_THAN_BY_CHANCE = 0.25  # share beyond what looking at all alike would give, for a head to be named by it


def _shifted(tokens: Ids, by: int) -> Places:
    place = torch.arange(tokens.shape[1])
    return (place[None, :] == place[:, None] + by)[None].expand(len(tokens), -1, -1)


def _first(tokens: Ids) -> Places:
    first = torch.zeros(tokens.shape[1], tokens.shape[1], dtype=torch.bool)
    first[1:, 0] = True  # the first token itself has little choice
    return first[None].expand(len(tokens), -1, -1)


def _alike(tokens: Ids) -> Places:
    return (tokens[:, :, None] == tokens[:, None, :]) & ~_shifted(tokens, 0)


ROLES: dict[str, Callable[[Ids], Places]] = {
    "previous token": lambda tokens: _shifted(tokens, -1),
    "next token": lambda tokens: _shifted(tokens, 1),
    "itself": lambda tokens: _shifted(tokens, 0),
    "first token": _first,
    "same word elsewhere": _alike,
}


def role_shares(
    pattern: Pattern, tokens: Tokens, valid: Valid, delimiters: Bool[Tensor, " vocab"]
) -> dict[str, tuple[Float[Tensor, " head"], float]]:
    """For each role the mean share of every head, and that of a head without preference.

    The mean is over queries for which there is such a place, among the places that the query could look at.
    """
    seen = (pattern.sum(1) > 0) & valid[:, None, :] & valid[:, :, None]
    alike = seen / seen.sum(-1, keepdim=True).clamp(min=1)
    found = {}
    breaks = delimiters[tokens][:, None, :].expand_as(seen)
    for name, places in [*((name, role(tokens)) for name, role in ROLES.items()), ("delimiter", breaks)]:
        there = places & seen
        asked = there.any(-1) & (seen.sum(-1) > 1)  # where only one place is to be seen, nothing is chosen
        count = asked.sum().clamp(min=1)
        given = (pattern * there[:, None]).sum(-1) * asked[:, None]
        found[name] = given.sum((0, 2)) / count, float(((alike * there).sum(-1) * asked).sum() / count)
    return found


def named(shares: dict[str, tuple[float, float]]) -> str:
    """The role that a head has more than chance would give it, or that it has none."""
    name, (share, chance) = max(shares.items(), key=lambda item: item[1][0] - item[1][1])
    return name if share - chance >= OTHER_THAN_BY_CHANCE else "spread"


def word_pattern(
    pattern: Float[Tensor, "head query key"], tree: TokenTree, nodes: int
) -> Float[Tensor, "head from to"]:
    """Between words: what its pieces give together, from the mean of their pieces (Clark et al., 2019)."""
    member = torch.zeros(nodes, pattern.shape[-1])
    member[torch.tensor(tree.nodes), torch.arange(len(tree.nodes))] = 1.0
    mean = member / member.sum(1, keepdim=True).clamp(min=1)
    return mean @ pattern @ member.T
