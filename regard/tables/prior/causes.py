"""Where the columns of an invented table come from: nodes of random causal graphs.

A node is a function of a few earlier ones, with noise of its own. Nodes are computed layer by layer, every layer from
all before it, for several tables at once; within a layer the kinds of function lie side by side, so that each is
computed once. Which nodes become columns is drawn later, so their order means nothing.
"""

import math
from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float
from torch import Generator, Tensor

Nodes = Float[Tensor, "table row node"]
MOST_PARENTS = 4


def draw_nodes(chance: Generator, tables: int, rows: int, nodes: int) -> Nodes:
    """Standardised values of at least `nodes` nodes."""
    layers = whole(chance, 1, 5)
    roots = max(2, int(nodes * uniform(chance, 0.15, 0.9)))
    found = [standard(draw_roots(chance, tables, rows, roots))]
    count = roots
    for layer in range(layers):
        width = max(2, -(-(nodes - count) // (layers - layer)))
        before = torch.cat(found, 2)
        found.append(standard(_layer(chance, before, width)))
        count += width
    return torch.cat(found, 2)


def draw_roots(chance: Generator, tables: int, rows: int, count: int) -> Nodes:
    """Values that have no cause in the table: bell-shaped, even, heavy-tailed, in clusters, or a random walk's."""
    normal = torch.randn(tables, rows, count, generator=chance)
    kind = torch.rand(tables, 1, count, generator=chance)
    even = torch.rand(tables, rows, count, generator=chance) * 3.4 - 1.7
    x = torch.where(kind < 0.25, even, normal)
    x = torch.where((kind > 0.8) & (kind < 0.9), normal * normal.abs(), x)
    groups = whole(chance, 2, 9)
    centers = 2.5 * torch.randn(tables, groups, count, generator=chance)
    member = torch.randint(groups, (tables, rows, 1), generator=chance).expand(-1, -1, count)
    clustered = torch.where(kind > 0.9, centers.gather(1, member) + 0.6 * normal, x)
    # Roots have something in common, as columns of real tables do.
    shared = torch.randn(tables, rows, 2, generator=chance)
    weight = torch.randn(tables, 2, count, generator=chance) * uniform(chance, 0.0, 1.0)
    return clustered + shared @ weight


def _layer(chance: Generator, before: Nodes, width: int) -> Float[Tensor, "table row {width}"]:
    tables, _, count = before.shape
    parents = min(count, whole(chance, 1, MOST_PARENTS + 1))
    chosen = torch.randint(count, (tables, width, parents), generator=chance)
    weight = torch.zeros(tables, count, width)
    strength = torch.randn(tables, width, parents, generator=chance)
    weight.scatter_add_(1, chosen.transpose(1, 2), strength.transpose(1, 2))
    mixed = before @ weight / math.sqrt(parents)
    shift = torch.randn(tables, 1, width, generator=chance)
    other = before.gather(2, chosen[:, None, :, 0].expand(-1, before.shape[1], -1))
    bent = bend_in_pieces(chance, mixed, shift, other)
    noise = 10 ** (torch.rand(tables, 1, width, generator=chance) * 2.5 - 2.8)  # from nothing much to half
    return standard(bent) + noise * torch.randn(bent.shape, generator=chance)


Bend = Callable[[Tensor, Tensor, Tensor], Tensor]

BENDS: Sequence[Bend] = (
    lambda x, shift, other: x,
    lambda x, shift, other: x,
    lambda x, shift, other: torch.tanh(2 * x + shift),
    lambda x, shift, other: torch.relu(x + 0.5 * shift),
    lambda x, shift, other: torch.sin(2 * x + shift),
    lambda x, shift, other: (x + 0.5 * shift).square(),
    lambda x, shift, other: (x + 0.5 * shift).abs(),
    lambda x, shift, other: (x > 0.7 * shift).float(),
    lambda x, shift, other: torch.exp(-2 * (x + 0.5 * shift).square()),
    lambda x, shift, other: (2 * x).round(),
    lambda x, shift, other: x * other,
    lambda x, shift, other: torch.maximum(x, other),
    lambda x, shift, other: (x > 0).float() * other,
    lambda x, shift, other: x.clamp(-3, 3).exp(),
)


def bend_in_pieces(chance: Generator, x: Nodes, shift: Tensor, other: Nodes) -> Nodes:
    """A few kinds of function, each for its stretch of the nodes."""
    kinds = torch.randint(len(BENDS), (min(x.shape[2], 4),), generator=chance).tolist()
    pieces = zip(*(part.chunk(len(kinds), 2) for part in (x, shift, other)), strict=True)
    return torch.cat([BENDS[kind](*piece) for kind, piece in zip(kinds, pieces, strict=False)], 2)


def standard(x: Nodes) -> Nodes:
    """Mean 0 and deviation 1 over the rows; what never changes stays 0."""
    x = x - x.mean(1, keepdim=True)
    return x / x.square().mean(1, keepdim=True).sqrt().clamp(min=1e-4)


def uniform(chance: Generator, low: float, high: float) -> float:
    return low + (high - low) * torch.rand((), generator=chance).item()


def whole(chance: Generator, low: int, high: int) -> int:
    """A whole number from `low` up to, but not, `high`."""
    return int(torch.randint(low, high, (), generator=chance).item())


def often(chance: Generator, share: float) -> bool:
    return torch.rand((), generator=chance).item() < share
