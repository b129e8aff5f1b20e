"""Influence of training rows: the mean weight that each has in the predictions of held-out rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from regard.tables.data_checks import identifiers
from regard.tables.explain import ROWS_PER_PASS
from regard.tables.report.held_out import HeldOutRows
from regard.tables.report.results import DecidingRow, Influence

TOP = 10
MAX_HELD_OUT = 100  # rows whose weights are averaged
MAX_COLUMNS = 6  # shown
Estimator = Any  # fitted


def measure_influence(
    estimator: Estimator, number: int, rows: HeldOutRows, labels: np.ndarray, names: Sequence[str]
) -> Influence:
    """The training rows with the largest mean weight; `labels` are classes, and `names` the columns to show."""
    table, some = estimator.tables_[number], rows.some(MAX_HELD_OUT)
    total, times = np.zeros(len(table.values)), np.zeros(len(table.values))
    for place, fold in enumerate(some.folds):
        mine = some.values[torch.from_numpy(some.fold_of == place)]
        for part in mine.split(ROWS_PER_PASS) if len(mine) else ():
            weights = fold.predictor.row_weights(part)[:, : len(fold.rows)]  # later ones are of rows without a target
            total[fold.rows] += weights.double().sum(0).numpy()
            times[fold.rows] += len(part)
    indices, first, inverse = np.unique(estimator.rows_.numpy(), return_index=True, return_inverse=True)
    # A row that was repeated by its weight is one row.
    weight = np.bincount(inverse.reshape(-1), total / np.maximum(times, 1), minlength=len(indices))
    largest = np.argsort(-weight, kind="stable")[:TOP]
    shown = [column.name for column in estimator.columns_.columns if column.name in set(names[:MAX_COLUMNS])]
    cells = estimator.columns_.decode(table.values.numpy()[first[largest]])[shown]
    target = table.target.numpy()[first[largest]]
    target = labels[target.astype(int)] if table.classes else target
    deciding = tuple(
        DecidingRow(int(indices[row]), float(weight[row]), target[place], tuple(cells.iloc[place]))
        for place, row in enumerate(largest)
    )
    context = np.mean([len(np.unique(estimator.rows_.numpy()[fold.rows])) for fold in rows.folds])
    attends = all(fold.predictor.attends_to_labels for fold in rows.folds)
    keys = tuple(identifiers(estimator.columns_, table.values.numpy()))
    return Influence(tuple(shown), deciding, float(1 / context), len(some.truth), attends, keys)
