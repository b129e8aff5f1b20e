"""Target functions of synthetic tables: linear, additive, neural network, trees, rules, nearest examples.

Each maps the effects of the cells (table, row, column) to a few scores for each row. A few columns have most of the
influence, as in real tables.
"""

import math
from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from regard.tables.prior.scm import Nodes, apply_activations, bernoulli, randint, standardise, uniform

Scores = Float[Tensor, "table row score"]
MAX_DEPTH = 6  # of a tree


def linear(generator: Generator, x: Nodes, scores: int) -> Scores:
    return x @ _weights(generator, x, scores)


def additive(generator: Generator, x: Nodes, scores: int) -> Scores:
    """A sum of nonlinear functions of single columns."""
    columns = x.shape[2]
    wave = 3 * torch.rand(len(x), 1, columns, generator=generator)
    shift = torch.randn(len(x), 1, columns, generator=generator)
    curved = apply_activations(generator, wave * x, shift, x)
    return standardise(curved) @ _weights(generator, x, scores)


def network(generator: Generator, x: Nodes, scores: int) -> Scores:
    """A random network of one to three layers."""
    state = x
    for _ in range(randint(generator, 1, 4)):
        width = randint(generator, 4, 33)
        mixed = state @ _weights(generator, state, width) * uniform(generator, 0.5, 2.0)
        shift = torch.randn(len(x), 1, width, generator=generator)
        state = standardise(apply_activations(generator, mixed, shift, mixed.roll(1, 2)))
    return state @ _weights(generator, state, scores)


def trees(generator: Generator, x: Nodes, scores: int) -> Scores:
    """A sum of decision trees; thresholds are cells of random rows."""
    tables, rows, columns = x.shape
    depth = randint(generator, 1, MAX_DEPTH + 1)
    count = 1 + int(uniform(generator, 0.0, 1.0) ** 2 * 24)
    inner = 2**depth - 1
    column = torch.multinomial(_importance(generator, tables, columns), count * inner, True, generator=generator)
    row = torch.randint(rows, (tables, count * inner), generator=generator)
    threshold = x[torch.arange(tables)[:, None], row, column]
    node = torch.zeros(tables, rows, count, dtype=torch.long)
    root = torch.arange(count) * inner
    for _ in range(depth):
        place = (node + root).flatten(1)
        split = column.gather(1, place).view_as(node)
        above = x.gather(2, split) > threshold.gather(1, place).view_as(node)
        node = 2 * node + 1 + above.long()
    leaf = torch.randn(tables, count * 2**depth, scores, generator=generator)
    place = (node - inner + torch.arange(count) * 2**depth).flatten(1)
    value = leaf.gather(1, place[..., None].expand(-1, -1, scores))
    return value.view(tables, rows, count, scores).sum(2) / math.sqrt(count)


def rules(generator: Generator, x: Nodes, scores: int) -> Scores:
    """A lookup table of a few discretised columns: arbitrary, by parity, or by the number of equal ones."""
    tables, _, columns = x.shape
    count = min(columns, randint(generator, 2, 5))
    chosen = _sample_columns(generator, x, count)
    bits = 1 if bernoulli(generator, 0.5) else 2
    # Random thresholds: some split evenly and others hardly at all.
    edge = 0.6 * torch.randn(tables, 1, count, 2**bits - 1, generator=generator)
    level = (chosen[..., None] > edge).sum(-1)
    kind = uniform(generator, 0.0, 1.0)
    if kind < 0.35:  # parity
        cell = level.sum(2) % 2
        lookup = torch.randn(tables, 2, scores, generator=generator)
    elif kind < 0.5:  # number of equal pairs
        cell = (level[..., :, None] == level[..., None, :]).sum((2, 3)) // 2
        lookup = torch.randn(tables, count * count + 1, scores, generator=generator)
    else:
        base = (2**bits) ** torch.arange(count)
        cell = (level * base).sum(2)
        lookup = torch.randn(tables, (2**bits) ** count, scores, generator=generator)
    score = lookup.gather(1, cell[..., None].expand(-1, -1, scores))
    return score + uniform(generator, 0.0, 0.5) * standardise(linear(generator, x, scores))


def examples(generator: Generator, x: Nodes, scores: int) -> Scores:
    """The score of the nearest of some example rows, in a few columns, softly."""
    chosen = _sample_columns(generator, x, min(x.shape[2], randint(generator, 2, 9)))
    count = min(x.shape[1], randint(generator, 4, 60))
    distance = torch.cdist(chosen, chosen[:, :count])
    weight = torch.softmax(-distance * uniform(generator, 1.0, 12.0), -1)
    return weight @ torch.randn(len(x), count, scores, generator=generator)


TargetFunction = Callable[[Generator, Nodes, int], Scores]
TARGET_FUNCTIONS: Sequence[TargetFunction] = (linear, additive, network, network, trees, trees, trees, rules, examples)


def draw_scores(generator: Generator, effects: Nodes, scores: int) -> Scores:
    """One target function, or the sum of two."""
    kinds = [
        TARGET_FUNCTIONS[randint(generator, 0, len(TARGET_FUNCTIONS))]
        for _ in range(2 if bernoulli(generator, 0.3) else 1)
    ]
    return torch.stack([standardise(kind(generator, effects, scores)) for kind in kinds]).sum(0)


def _importance(generator: Generator, tables: int, columns: int) -> Float[Tensor, "table column"]:
    """Relative influence of columns, decaying at a random rate over a random order."""
    decay = uniform(generator, 0.0, 1.5)
    order = torch.rand(tables, columns, generator=generator).argsort(1)
    return (-decay * order * min(1.0, 8 / columns)).exp() + 1e-6


def _weights(generator: Generator, x: Nodes, count: int) -> Float[Tensor, "table column {count}"]:
    tables, _, columns = x.shape
    importance = _importance(generator, tables, columns)[..., None]
    weight = torch.randn(tables, columns, count, generator=generator) * importance
    return weight / weight.square().sum(1, keepdim=True).sqrt().clamp(min=1e-6)


def _sample_columns(generator: Generator, x: Nodes, count: int) -> Float[Tensor, "table row {count}"]:
    column = torch.multinomial(_importance(generator, len(x), x.shape[2]), count, generator=generator)
    return x.gather(2, column[:, None].expand(-1, x.shape[1], -1))
