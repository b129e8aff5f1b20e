"""Splits of a table into training and held-out rows."""

import torch
from jaxtyping import Int
from torch import Tensor

from regard.core.machine import seed_for
from regard.tables.encode.table import EncodedTable

FREQUENT = 0.02  # copies of a row, as a fraction of the held-out rows


def split_folds(table: EncodedTable, count: int, seed: int, most: int) -> list[tuple[EncodedTable, EncodedTable]]:
    """Splits into training and held-out rows; each row is held out in one, and `most` of these are kept."""
    fold_of = assign_folds(table, count, seed)
    folds = []
    for fold in range(count):
        held_out = (fold_of == fold).nonzero()[:, 0]
        some = torch.linspace(0, len(held_out) - 1, min(len(held_out), most)).round().long()
        folds.append((table.take((fold_of != fold).nonzero()[:, 0]), table.take(held_out[some])))
    return folds


def assign_folds(table: EncodedTable, count: int, seed: int) -> Int[Tensor, " row"]:
    """The fold of each row.

    Classes are stratified. Equal rows, such as repeated ones, stay together: one would reveal the target of the other.
    """
    cells = torch.cat([table.values.double(), table.target.double()[:, None]], 1).nan_to_num(nan=torch.inf)
    rows, same = torch.unique(cells, dim=0, return_inverse=True)
    order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(seed_for("folds", seed)))
    if table.classes:
        order = order[rows[order, -1].argsort(stable=True)]
    fold_of = torch.empty_like(order)
    fold_of[order] = torch.arange(len(rows)) % count
    return fold_of[same]


def hold_out(table: EncodedTable, count: int, seed: int) -> tuple[EncodedTable, EncodedTable]:
    """One split of a large table into training rows and about `count` distinct held-out ones.

    Equal rows stay together, and only one of them is held out: a row that occurs a thousand times would decide alone.
    The most frequent rows are never held out, because the rest would no longer be like the table.
    """
    generator = torch.Generator().manual_seed(seed_for("hold out", seed))
    # Equal rows have equal sums of their cells with random weights, and others hardly ever; sorting rows would be slow.
    factors = torch.randn(table.values.shape[1] + 1, dtype=torch.double, generator=generator)
    sums = table.target.double() * factors[-1]
    for cells, factor in zip(table.values.unbind(1), factors.tolist(), strict=False):
        sums = sums + cells.double().nan_to_num(nan=1e9) * factor
    distinct, same, copies = torch.unique(sums, return_inverse=True, return_counts=True)
    chance = torch.rand(len(distinct), generator=generator)
    held = (chance < count / len(table.values)) & (copies <= max(1, FREQUENT * count))
    rows = torch.arange(len(same))
    first = torch.full((len(distinct),), len(same)).scatter_reduce(0, same, rows, "amin")
    return table.take(rows[~held[same]]), table.take(first[held].sort().values)
