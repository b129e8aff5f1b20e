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
    grids = {number: _grid(columns, number, known) for number in chosen}
    grids = {number: grid for number, grid in grids.items() if len(grid[0]) > 1}
    averages = _average_predictions(some, columns, known, {number: grid for number, (grid, _) in grids.items()})
    results = []
    for number, (grid, counts) in grids.items():
        column, cells = columns.columns[number], known[:, columns.positions()[number]]
        average = outputs.of(averages[number])
        curves = tuple((name, tuple(each.tolist())) for name, each in zip(outputs.names, average.T, strict=True))
        first = cells[~np.isnan(cells[:, 0]), 0]
        rug = () if column.kind == "category" else tuple(first[sample(np.arange(len(first)), MAX_RUG)].tolist())
        decoded = tuple(column.decode(cells[grid]).tolist())
        results.append(Dependence(column.name, column.kind, decoded, curves[:MAX_CURVES], rug, counts, len(some.truth)))
    return tuple(results)


def _grid(
    columns: Columns, number: int, known: Float[np.ndarray, "row cell"]
) -> tuple[Int[np.ndarray, " point"], tuple[int, ...]]:
    """Training rows whose cells of this column are tried, and how many rows have each category."""
    column, cells = columns.columns[number], known[:, columns.positions()[number]]
    return _categories(column, cells) if column.kind == "category" else (_points(cells), ())


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


def _average_predictions(
    rows: HeldOutRows, columns: Columns, known: Float[np.ndarray, "row cell"], grids: dict[int, np.ndarray]
) -> dict[int, Float[np.ndarray, "point prediction"]]:
    """The average prediction of all rows with each cell, by column; all at once, as each call has its price."""
    if not grids:
        return {}
    count, parts = len(rows.truth), []
    for number, grid in grids.items():
        positions = columns.positions()[number]
        values = rows.values.repeat(len(grid), 1)
        values[:, positions] = torch.from_numpy(known[grid][:, positions]).repeat_interleave(count, 0)
        parts.append(values)
    values = torch.cat(parts)
    predicted = rows.take(np.tile(np.arange(count), len(values) // count)).predict(values)
    averages = predicted.reshape(len(values) // count, count, -1).mean(1)
    ends = np.cumsum([len(grid) for grid in grids.values()])[:-1]
    return dict(zip(grids, np.split(averages, ends), strict=True))
