"""Columns without cells of single rows: rare levels are dropped, and of numbers only means of several cells are kept.

Micro-aggregation (Defays & Anwar, 1998): whatever a column keeps of its cells, at least `MIN_ROWS` rows share it.
Levels of fewer rows, such as identifiers, count as never seen. A threshold of a tree lies between two cells.
"""

import math
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.tables.encode.cells import Label
from regard.tables.encode.column import Column, some_of
from regard.tables.encode.columns import Columns

MIN_ROWS = 5  # that share whatever is kept
MAX_GROUPS = 64  # of the numbers of a column
USUAL = (0.1, 0.9)  # quantiles of the range that is shown


def anonymous_columns(
    columns: Columns, values: Float[Tensor, "row cell"], distinct: Int[Tensor, " distinct"]
) -> tuple[Columns, Float[Tensor, "row cell"]]:
    """Columns without rare levels and texts, and the training rows as these columns encode them.

    `distinct` are the rows that count: a row that is repeated for its weight counts once.
    """
    parts = [
        _anonymous(column, values[:, places], distinct)
        for column, places in zip(columns.columns, columns.positions(), strict=True)
    ]
    return replace(columns, columns=tuple(column for column, _ in parts)), torch.cat([cells for _, cells in parts], 1)


def _anonymous(
    column: Column, cells: Float[Tensor, "row part"], distinct: Int[Tensor, " distinct"]
) -> tuple[Column, Float[Tensor, "row part"]]:
    if column.kind == "category" or (column.kind == "text" and column.repeats):
        return _without_rare_levels(column, cells, distinct)
    if column.kind == "text":  # a text's position is its length among all texts: without them there is none
        cells = cells.clone()
        cells[:, 0] = torch.where(cells[:, 0].isnan(), torch.nan, -0.5)
        return replace(column, categories=(), summary=""), cells
    return replace(column, summary=_usual(column, cells[:, 0])), cells


def _without_rare_levels(
    column: Column, cells: Float[Tensor, "row part"], distinct: Int[Tensor, " distinct"]
) -> tuple[Column, Float[Tensor, "row part"]]:
    """The levels of enough rows keep their order; the code after the last stands for all others."""
    known = ~cells[:, 0].isnan()
    size = len(column.categories) + 1
    once = cells[distinct, 0]
    counts = torch.bincount(once[~once.isnan()].long(), minlength=size)[: len(column.categories)]
    frequent = (counts >= MIN_ROWS).nonzero()[:, 0]
    if not len(frequent) and column.kind == "category":  # an identifier: as a column that was empty
        return replace(column, categories=(), filled=0.0, summary=""), torch.full_like(cells, torch.nan)
    new_code = torch.full((size,), float(len(frequent)))
    new_code[frequent] = torch.arange(len(frequent)).float()
    cells = cells.clone()
    cells[known, 0] = new_code[cells[known, 0].long()]
    levels: tuple[Label, ...] = tuple(column.categories[code] for code in frequent.tolist())
    return replace(column, categories=levels, summary=some_of(levels)), cells


def _usual(column: Column, numbers: Float[Tensor, " row"]) -> str:
    """The range of most cells, rounded: the smallest and the largest number are cells."""
    known = numbers[~numbers.isnan()].double().numpy()
    if not len(known) or column.kind == "date":
        return ""
    low, high = (_short(float(number)) for number in np.quantile(known, USUAL))
    return f"mostly {low:g} to {high:g}"


def _short(number: float) -> float:
    return float(f"{number:.2g}")


def group_means(numbers: Float[Tensor, " row"]) -> Float[Tensor, " group"]:
    """Means of neighbouring numbers, ascending: a coarse distribution, in which each number stands for several rows."""
    known = numbers[~numbers.isnan()].double().sort().values
    count = max(1, min(MAX_GROUPS, len(known) // MIN_ROWS))
    return torch.stack([part.mean() for part in known.tensor_split(count)]) if len(known) else known


def between_cells(thresholds: Float[Tensor, " split"], numbers: Float[Tensor, " row"]) -> Float[Tensor, " split"]:
    """Thresholds that split these numbers in the same way, none of which is one of them: short decimals in the gaps."""
    known = numbers[~numbers.isnan()].unique().numpy()
    moved = thresholds.numpy().copy()
    for place, threshold in enumerate(moved):
        after = int(np.searchsorted(known, threshold, side="right"))
        if 0 < after < len(known):  # others split nothing but missing cells from the rest
            moved[place] = shortest_between(float(known[after - 1]), float(known[after]))
        elif len(known) and math.isfinite(threshold):
            moved[place] = math.inf if after else -math.inf
    return torch.from_numpy(moved)


def shortest_between(low: float, high: float) -> float:
    """The number of fewest decimals strictly between two others, or their mean."""
    exponent = math.ceil(math.log10(high - low)) if high > low else 0
    for digits in range(-exponent, 18 - exponent):
        number = round(0.5 * low + 0.5 * high, digits)
        if low < number < high:
            return number
    return 0.5 * low + 0.5 * high
