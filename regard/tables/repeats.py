"""Rows that repeat training rows: with the same cells and the same target, unless that is chance.

Rows of a few categories have equal cells by chance, and then often equal targets too. They are no repetitions, and a
score on them says something about new rows.
"""

import math
from collections import Counter, defaultdict
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.tables.encode.columns import Columns
from regard.tables.encode.table import EncodedTable

MIN_DISTINCT = 50  # values of some column: rows of fewer are equal by chance
RARELY_EQUAL = 0.05  # probability that two targets are equal: above it, equal targets prove little
SURPRISE = math.log(1e6)  # with which rows stand in another table one after the other by chance
NEARLY_ALL = 0.9  # of the rows with equal cells have equal targets, more than chance explains

Rows = list[bytes]


def repeated(columns: Columns, known: EncodedTable, values: Tensor, target: Tensor) -> np.ndarray:
    """Which of these encoded rows are rows of the `known` table; none where rows are equal by chance.

    A table whose rows are those of the known one in the same order, all of them or a part, is found in any case.
    """
    ours, others = _rows(columns, known.values, known.target), _rows(columns, values, target)
    if _is_part(ours, others):
        return np.ones(len(others), dtype=bool)
    chance = _equal_by_chance(known.target.numpy())
    distinct = [_distinct(column) for column in known.values.numpy().T]
    distinct += [_distinct(known.target.numpy())] if chance < RARELY_EQUAL else []
    if max(distinct, default=0) < MIN_DISTINCT:
        return np.zeros(len(others), dtype=bool)
    if chance >= RARELY_EQUAL:
        agreeing = _agreement(columns, known, values, target)
        if (agreeing - chance) / max(1 - chance, 1e-9) < NEARLY_ALL:
            return np.zeros(len(others), dtype=bool)
    seen = set(ours)
    return np.array([row in seen for row in others], dtype=bool)


def _rows(columns: Columns, values: Tensor, target: Tensor | None = None) -> Rows:
    """Each row as bytes. The scores of a text are left out: those of training rows come from other folds."""
    cells = values[:, columns.identity_positions()].double()
    if target is not None:
        cells = torch.cat([cells, target.double()[:, None]], 1)
    return [row.tobytes() for row in np.nan_to_num(cells.numpy(), nan=np.inf) + 0.0]  # of two zeros, one


def _distinct(cells: np.ndarray) -> int:
    return len(np.unique(cells[~np.isnan(cells)]))


def _equal_by_chance(target: np.ndarray) -> float:
    """The probability that two rows have the same target."""
    shares = np.unique(target, return_counts=True)[1] / len(target)
    return float(np.square(shares).sum())


def _agreement(columns: Columns, known: EncodedTable, values: Tensor, target: Tensor) -> float:
    """Of the known rows with the cells of one of these rows, the fraction with its target too; mean over rows."""
    counts: dict[bytes, Counter[Any]] = defaultdict(Counter)
    for row, label in zip(_rows(columns, known.values), known.target.tolist(), strict=True):
        counts[row][label] += 1
    pairs = zip(_rows(columns, values), target.tolist(), strict=True)
    shares = [counts[row][label] / counts[row].total() for row, label in pairs if row in counts]
    return float(np.mean(shares)) if shares else 0.0


def _is_part(known: Rows, others: Rows) -> bool:
    """Whether the other rows stand in the known ones, one after the other, and too many of them for chance."""
    counts = Counter(known)
    if not all(row in counts for row in others):
        return False
    surprise = sum(math.log(len(known) / counts[row]) for row in others)
    if surprise < math.log(len(known)) + SURPRISE:
        return False
    starts = [place for place in range(len(known) - len(others) + 1) if known[place] == others[0]]
    return any(known[start : start + len(others)] == others for start in starts)
