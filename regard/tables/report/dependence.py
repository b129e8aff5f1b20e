"""Partial dependence: the average prediction if every row had the same cell in one column (Friedman, 2001)."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Int

from regard.tables.encode.column import Column
from regard.tables.encode.columns import Columns
from regard.tables.report.direction import Outputs
from regard.tables.report.held_out import HeldOutRows
from regard.tables.report.results import Dependence
from regard.tables.splits import sample

COLUMNS = 6
POINTS = 9  # of a curve
RANGE = (0.02, 0.98)  # of the cells: a curve beyond them would rest on a few rows
MAX_CATEGORIES = 8  # the most frequent
MAX_CURVES = 4
MAX_RUG = 80
PREDICTIONS = 2400
KINDS = ("number", "category", "date")  # a text has no order and hardly repeats


def measure_dependence(
    rows: HeldOutRows, columns: Columns, known: Float[np.ndarray, "row cell"], names: Sequence[str], outputs: Outputs
) -> tuple[Dependence, ...]:
    """Of the first columns named; `known` are the cells of training rows, from which the cells of curves are taken."""
    numbers = {column.name: number for number, column in enumerate(columns.columns) if column.kind in KINDS}
    chosen = [numbers[name] for name in names if name in numbers][:COLUMNS]
    some = rows.some(max(10, PREDICTIONS // (COLUMNS * POINTS)))
    results = []
    for number in chosen:
        column, positions = columns.columns[number], columns.positions()[number]
        cells = known[:, positions]
        grid, counts = _categories(column, cells) if column.kind == "category" else (_points(cells), ())
        if len(grid) < 2:
            continue
        average = outputs.of(_predict_grid(some, positions, cells[grid])).mean(1)
        shown = list(range(len(outputs.names)))[:MAX_CURVES]
        curves = tuple((outputs.names[place], tuple(average[:, place].tolist())) for place in shown)
        first = cells[~np.isnan(cells[:, 0]), 0]
        rug = () if column.kind == "category" else tuple(first[sample(np.arange(len(first)), MAX_RUG)].tolist())
        decoded = tuple(column.decode(cells[grid]).tolist())
        results.append(Dependence(column.name, column.kind, decoded, curves, rug, counts, len(some.truth)))
    return tuple(results)


def _points(cells: Float[np.ndarray, "row part"]) -> Int[np.ndarray, " point"]:
    """Rows whose cells are quantiles of the column, ascending and distinct."""
    order = np.argsort(cells[:, 0], kind="stable")  # missing cells are last
    order = order[~np.isnan(cells[order, 0])]
    if not len(order):
        return order
    wanted = np.round(np.linspace(*RANGE, POINTS) * (len(order) - 1)).astype(int)
    places = order[wanted]
    return places[np.unique(cells[places, 0], return_index=True)[1]]


def _categories(
    column: Column, cells: Float[np.ndarray, "row part"]
) -> tuple[Int[np.ndarray, " category"], tuple[int, ...]]:
    """Rows that have the most frequent categories, in their order, and how many rows have each."""
    codes, first, counts = np.unique(cells[:, 0], return_index=True, return_counts=True)
    seen = ~np.isnan(codes) & (codes < len(column.categories))
    first, counts = first[seen], counts[seen]
    most = np.sort(np.argsort(-counts, kind="stable")[:MAX_CATEGORIES])
    return first[most], tuple(counts[most].tolist())


def _predict_grid(
    rows: HeldOutRows, positions: list[int], grid: Float[np.ndarray, "point part"]
) -> Float[np.ndarray, "point row prediction"]:
    """Predictions of all rows with each cell of the grid."""
    count = len(rows.truth)
    values = rows.values.repeat(len(grid), 1)
    values[:, positions] = torch.from_numpy(grid).repeat_interleave(count, 0)
    predicted = rows.take(np.tile(np.arange(count), len(grid))).predict(values)
    return predicted.reshape(len(grid), count, -1)
