"""Splits of a table into training and held-out rows."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.core.machine import seed_for
from regard.tables.encode.table import EncodedTable

MIN_HELD_OUT = 12  # rows: fewer are too noisy, and the remaining rows are worth more as context
HELD_OUT_CELLS = 0.125  # fraction of the combinations of cells
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
    """One split of a large table into training rows, some of each class, and about `count` distinct held-out ones.

    Equal rows stay together, and only one of them is held out: a row that occurs a thousand times would decide alone.
    The most frequent rows are never held out, because the rest would no longer be like the table. If that leaves too
    few, as where all columns have few categories, whole groups of rows are held out; if these are too few, none.

    Copies that a weight has made are counted and held out as one row, and all of them are kept: the weight is meant.
    """
    copies = table.copies()
    if copies is None:
        rest, held = _hold_out(table, count, seed)
        return table.take(rest), table.take(held)
    distinct = table.take(copies.first)
    parts = _hold_out(distinct, max(1, count * len(copies.first) // len(copies.group)), seed)
    rest, held = (torch.isin(copies.group, rows).nonzero()[:, 0] for rows in parts)
    return table.take(rest), table.take(held)


def _hold_out(table: EncodedTable, count: int, seed: int) -> tuple[Int[Tensor, " rest"], Int[Tensor, " held"]]:
    generator = torch.Generator().manual_seed(seed_for("hold out", seed))
    factors = torch.randn(table.values.shape[1] + 1, dtype=torch.double, generator=generator)
    sums = _weighted_sums(table, factors, table.target.double() * factors[-1])
    distinct, same, copies = torch.unique(sums, return_inverse=True, return_counts=True)
    chance = torch.rand(len(distinct), generator=generator)
    held = (chance < count / len(table.values)) & (copies <= max(1, FREQUENT * count))
    _keep_classes(table, held, same)
    if held.sum() < 2 * MIN_HELD_OUT:
        return _hold_out_cells(table, count, _weighted_sums(table, factors, torch.zeros_like(sums)), generator)
    rows = torch.arange(len(same))
    first = torch.full((len(distinct),), len(same)).scatter_reduce(0, same, rows, "amin")
    return rows[~held[same]], first[held].sort().values


def _hold_out_cells(
    table: EncodedTable, count: int, sums: Float[Tensor, " row"], generator: torch.Generator
) -> tuple[Int[Tensor, " rest"], Int[Tensor, " held"]]:
    """All rows with some combinations of cells, whatever their targets; `sums` tell combinations apart.

    If the rows with one target of such a combination were held out by themselves, the others would say that it never
    has this target, and the predictors that learn the table best would be the worst.
    """
    _, same, copies = torch.unique(sums, return_inverse=True, return_counts=True)
    order = torch.randperm(len(copies), generator=generator)
    held = torch.zeros(len(copies), dtype=torch.bool)
    held[order[copies[order] <= HELD_OUT_CELLS * len(sums)][: int(HELD_OUT_CELLS * len(copies))]] = True
    _keep_classes(table, held, same)
    if held.sum() < MIN_HELD_OUT:
        held[:] = False
    rows = held[same].nonzero()[:, 0]
    some = rows[torch.randperm(len(rows), generator=generator)[:count]].sort().values
    return (~held[same]).nonzero()[:, 0], some


def _weighted_sums(
    table: EncodedTable, factors: Float[Tensor, " factor"], sums: Float[Tensor, " row"]
) -> Float[Tensor, " row"]:
    """Sums of the cells with random weights: those of equal rows are equal, and others hardly ever; sorting is slow."""
    for cells, factor in zip(table.values.unbind(1), factors.tolist(), strict=False):
        sums = sums + cells.double().nan_to_num(nan=1e9) * factor
    return sums


def _keep_classes(table: EncodedTable, held: Bool[Tensor, " distinct"], same: Int[Tensor, " row"]) -> None:
    """A class is never held out entirely: a row of it, with those that are equal, stays with the training rows."""
    if not table.classes:
        return
    target = table.target.long()
    remaining = torch.bincount(target[~held[same]], minlength=table.classes)
    for number in (remaining == 0).nonzero()[:, 0].tolist():
        held[same[target == number][:1]] = False
