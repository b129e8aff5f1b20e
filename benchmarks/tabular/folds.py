"""The small tables of the NPT paper under its protocol: ten folds, the mean of their scores and its standard error."""

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from .boards import MEASURE
from .cells import Cell
from .splits import FOLDS

TABLES = ("boston_housing", "concrete", "yacht", "breast_cancer")

# Kossen et al. (2021), tables of appendix E: other folds of the same tables, and a part of each held out to stop by.
PUBLISHED = {
    "NPT, as published": {"boston_housing": 2.92, "concrete": 5.21, "yacht": 1.27, "breast_cancer": 0.997},
    "CatBoost, as published": {"boston_housing": 3.44, "concrete": 4.28, "yacht": 1.05, "breast_cancer": 0.992},
}


@dataclass(frozen=True)
class Folded:
    measure: str
    mean: float | None  # None: a fold failed
    error: float | None  # standard error of the mean
    seconds: float


def folded(cells: Iterable[Cell]) -> dict[str, Folded]:
    """By table, where all folds have been measured."""
    by_table: dict[str, list[Cell]] = {}
    for cell in cells:
        by_table.setdefault(cell.table, []).append(cell)
    return {table: _folded(those) for table, those in by_table.items() if len(those) == FOLDS}


def _folded(cells: list[Cell]) -> Folded:
    measure = MEASURE[cells[0].task]
    values = [cell.scores[measure] for cell in cells if cell.scores is not None]
    seconds = sum(cell.fit_seconds + cell.predict_seconds for cell in cells)
    if len(values) < len(cells):
        return Folded(measure, None, None, seconds)
    return Folded(measure, statistics.mean(values), statistics.stdev(values) / math.sqrt(len(values)), seconds)
