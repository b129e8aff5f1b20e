"""What an invented target is a function of: linear, additive, a network, trees, rules, near examples.

Every kind takes what the cells do, (table, row, column), and gives a few scores for each row. A few columns matter
most and many hardly at all, as in real tables.
"""

import math
from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from regard.tables.prior.causes import Nodes, bend_in_pieces, often, standard, uniform, whole

Scores = Float[Tensor, "table row score"]
MOST_LEAVES = 6  # of each tree, as a power of two


def linear(chance: Generator, x: Nodes, scores: int) -> Scores:
    return x @ _weights(chance, x, scores)


def additive(chance: Generator, x: Nodes, scores: int) -> Scores:
    """A bent curve for every column, and their sum."""
    columns = x.shape[2]
    wave = 3 * torch.rand(len(x), 1, columns, generator=chance)
    shift = torch.randn(len(x), 1, columns, generator=chance)
    curved = bend_in_pieces(chance, wave * x, shift, x)
    return standard(curved) @ _weights(chance, x, scores)


def network(chance: Generator, x: Nodes, scores: int) -> Scores:
    """A random network of one to three layers."""
    state = x
    for _ in range(whole(chance, 1, 4)):
        width = whole(chance, 4, 33)
        mixed = state @ _weights(chance, state, width) * uniform(chance, 0.5, 2.0)
        shift = torch.randn(len(x), 1, width, generator=chance)
        state = standard(bend_in_pieces(chance, mixed, shift, mixed.roll(1, 2)))
    return state @ _weights(chance, state, scores)


def trees(chance: Generator, x: Nodes, scores: int) -> Scores:
    """The sum of a few trees; a split asks whether a column is above the cell of some row."""
    tables, rows, columns = x.shape
    depth = whole(chance, 1, MOST_LEAVES + 1)
    count = 1 + int(uniform(chance, 0.0, 1.0) ** 2 * 24)
    inner = 2**depth - 1
    column = torch.multinomial(_importance(chance, tables, columns), count * inner, True, generator=chance)
    row = torch.randint(rows, (tables, count * inner), generator=chance)
    edge = x[torch.arange(tables)[:, None], row, column]
    node = torch.zeros(tables, rows, count, dtype=torch.long)
    first = torch.arange(count) * inner
    for _ in range(depth):
        place = (node + first).flatten(1)
        asked = column.gather(1, place).view_as(node)
        above = x.gather(2, asked) > edge.gather(1, place).view_as(node)
        node = 2 * node + 1 + above.long()
    leaf = torch.randn(tables, count * 2**depth, scores, generator=chance)
    place = (node - inner + torch.arange(count) * 2**depth).flatten(1)
    fallen = leaf.gather(1, place[..., None].expand(-1, -1, scores))
    return fallen.view(tables, rows, count, scores).sum(2) / math.sqrt(count)


def rules(chance: Generator, x: Nodes, scores: int) -> Scores:
    """A table of answers to a few questions about a few columns; some of them ask for odd or even, or for equality."""
    tables, _, columns = x.shape
    asked = min(columns, whole(chance, 2, 5))
    chosen = _chosen(chance, x, asked)
    bits = 1 if often(chance, 0.5) else 2
    # A square root of normal numbers is spread widely, so some questions split evenly and others hardly at all.
    edge = 0.6 * torch.randn(tables, 1, asked, 2**bits - 1, generator=chance)
    level = (chosen[..., None] > edge).sum(-1)
    kind = uniform(chance, 0.0, 1.0)
    if kind < 0.35:  # odd or even
        cell = level.sum(2) % 2
        sheet = torch.randn(tables, 2, scores, generator=chance)
    elif kind < 0.5:  # how many are equal
        cell = (level[..., :, None] == level[..., None, :]).sum((2, 3)) // 2
        sheet = torch.randn(tables, asked * asked + 1, scores, generator=chance)
    else:
        base = (2**bits) ** torch.arange(asked)
        cell = (level * base).sum(2)
        sheet = torch.randn(tables, (2**bits) ** asked, scores, generator=chance)
    answer = sheet.gather(1, cell[..., None].expand(-1, -1, scores))
    return answer + uniform(chance, 0.0, 0.5) * standard(linear(chance, x, scores))


def examples(chance: Generator, x: Nodes, scores: int) -> Scores:
    """What the nearest of some example rows has, in a few columns."""
    chosen = _chosen(chance, x, min(x.shape[2], whole(chance, 2, 9)))
    count = min(x.shape[1], whole(chance, 4, 60))
    distance = torch.cdist(chosen, chosen[:, :count])
    near = torch.softmax(-distance * uniform(chance, 1.0, 12.0), -1)
    return near @ torch.randn(len(x), count, scores, generator=chance)


Answer = Callable[[Generator, Nodes, int], Scores]
ANSWERS: Sequence[Answer] = (linear, additive, network, network, trees, trees, trees, rules, examples)


def draw_scores(chance: Generator, felt: Nodes, scores: int) -> Scores:
    """One kind of function, or the sum of two."""
    kinds = [ANSWERS[whole(chance, 0, len(ANSWERS))] for _ in range(2 if often(chance, 0.3) else 1)]
    found = [standard(kind(chance, felt, scores)) for kind in kinds]
    return torch.stack(found).sum(0)


def _importance(chance: Generator, tables: int, columns: int) -> Float[Tensor, "table column"]:
    """Shares that fall off, quickly or slowly, over the columns in random order."""
    fall = uniform(chance, 0.0, 1.5)
    order = torch.rand(tables, columns, generator=chance).argsort(1)
    return (-fall * order * min(1.0, 8 / columns)).exp() + 1e-6


def _weights(chance: Generator, x: Nodes, count: int) -> Float[Tensor, "table column {count}"]:
    tables, _, columns = x.shape
    importance = _importance(chance, tables, columns)[..., None]
    weight = torch.randn(tables, columns, count, generator=chance) * importance
    return weight / weight.square().sum(1, keepdim=True).sqrt().clamp(min=1e-6)


def _chosen(chance: Generator, x: Nodes, count: int) -> Float[Tensor, "table row {count}"]:
    column = torch.multinomial(_importance(chance, len(x), x.shape[2]), count, generator=chance)
    return x.gather(2, column[:, None].expand(-1, x.shape[1], -1))
