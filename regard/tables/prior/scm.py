"""Structural causal models: random graphs whose nodes become the columns of synthetic tables (Hollmann et al., 2023).

A node is a function of a few earlier nodes plus noise. Nodes are computed layer by layer, each from all layers before
it, for several tables at once. Within a layer, nodes with the same activation are adjacent, so that each activation is
computed once. Which nodes become columns is drawn later, so their order means nothing.
"""

import math
from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float
from torch import Generator, Tensor

Nodes = Float[Tensor, "table row node"]
MAX_PARENTS = 4


def draw_nodes(generator: Generator, tables: int, rows: int, nodes: int) -> Nodes:
    """Standardised values of at least `nodes` nodes."""
    layers = randint(generator, 1, 5)
    roots = max(2, int(nodes * uniform(generator, 0.15, 0.9)))
    drawn = [standardise(draw_roots(generator, tables, rows, roots))]
    count = roots
    for layer in range(layers):
        width = max(2, -(-(nodes - count) // (layers - layer)))
        before = torch.cat(drawn, 2)
        drawn.append(standardise(_layer(generator, before, width)))
        count += width
    return torch.cat(drawn, 2)


def draw_roots(generator: Generator, tables: int, rows: int, count: int) -> Nodes:
    """Root nodes: normal, uniform, heavy-tailed or clustered."""
    normal = torch.randn(tables, rows, count, generator=generator)
    kind = torch.rand(tables, 1, count, generator=generator)
    flat = torch.rand(tables, rows, count, generator=generator) * 3.4 - 1.7
    x = torch.where(kind < 0.25, flat, normal)
    x = torch.where((kind > 0.8) & (kind < 0.9), normal * normal.abs(), x)
    groups = randint(generator, 2, 9)
    centers = 2.5 * torch.randn(tables, groups, count, generator=generator)
    member = torch.randint(groups, (tables, rows, 1), generator=generator).expand(-1, -1, count)
    clustered = torch.where(kind > 0.9, centers.gather(1, member) + 0.6 * normal, x)
    # Roots are correlated, as columns of real tables are.
    shared = torch.randn(tables, rows, 2, generator=generator)
    weight = torch.randn(tables, 2, count, generator=generator) * uniform(generator, 0.0, 1.0)
    return clustered + shared @ weight


def _layer(generator: Generator, before: Nodes, width: int) -> Float[Tensor, "table row {width}"]:
    tables, _, count = before.shape
    parents = min(count, randint(generator, 1, MAX_PARENTS + 1))
    chosen = torch.randint(count, (tables, width, parents), generator=generator)
    weight = torch.zeros(tables, count, width)
    strength = torch.randn(tables, width, parents, generator=generator)
    weight.scatter_add_(1, chosen.transpose(1, 2), strength.transpose(1, 2))
    mixed = before @ weight / math.sqrt(parents)
    shift = torch.randn(tables, 1, width, generator=generator)
    other = before.gather(2, chosen[:, None, :, 0].expand(-1, before.shape[1], -1))
    output = apply_activations(generator, mixed, shift, other)
    noise = 10 ** (torch.rand(tables, 1, width, generator=generator) * 2.5 - 2.8)  # from almost none to half
    return standardise(output) + noise * torch.randn(output.shape, generator=generator)


Activation = Callable[[Tensor, Tensor, Tensor], Tensor]

ACTIVATIONS: Sequence[Activation] = (
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


def apply_activations(generator: Generator, x: Nodes, shift: Tensor, other: Nodes) -> Nodes:
    """A few random activations, each applied to a consecutive part of the nodes."""
    kinds = torch.randint(len(ACTIVATIONS), (min(x.shape[2], 4),), generator=generator).tolist()
    pieces = zip(*(part.chunk(len(kinds), 2) for part in (x, shift, other)), strict=True)
    return torch.cat([ACTIVATIONS[kind](*piece) for kind, piece in zip(kinds, pieces, strict=False)], 2)


def standardise(x: Nodes) -> Nodes:
    """Mean 0 and standard deviation 1 over the rows; a constant becomes 0."""
    x = x - x.mean(1, keepdim=True)
    return x / x.square().mean(1, keepdim=True).sqrt().clamp(min=1e-4)


def uniform(generator: Generator, low: float, high: float) -> float:
    return low + (high - low) * torch.rand((), generator=generator).item()


def randint(generator: Generator, low: int, high: int) -> int:
    """An integer from `low` (inclusive) to `high` (exclusive)."""
    return int(torch.randint(low, high, (), generator=generator).item())


def bernoulli(generator: Generator, probability: float) -> bool:
    return torch.rand((), generator=generator).item() < probability
