"""Warnings of a report: what `fit` notes about columns, and what makes scores better than predictions will be."""

from collections.abc import Iterator
from copy import copy
from typing import Any

import numpy as np
import pandas as pd
import torch

from regard.tables.cautions import cautions
from regard.tables.data_checks import check_training_data
from regard.tables.fit_settings import FitSettings
from regard.tables.leaks import HeldOut
from regard.tables.problem import Problem
from regard.tables.report.held_out import Fold, HeldOutRows, cells_of
from regard.tables.report.mistakes import UNSEEN
from regard.tables.scores import score
from regard.tables.splits import Split

Estimator = Any  # fitted
FEW_ROWS = 50  # held-out ones
MAX_HELD_OUT = 500  # rows that are predicted once more


def column_warnings(estimator: Estimator) -> Iterator[str]:
    """Columns that may not be meant as features."""
    yield from check_training_data(estimator.columns_, cells_of(estimator.columns_, estimator.tables_[0].values))


def score_warnings(estimator: Estimator, number: int, rows: HeldOutRows, labels: np.ndarray, how: str) -> Iterator[str]:
    """What flatters the score of one target; `how` rows were held out if not at random."""
    if len(rows.truth) < FEW_ROWS:
        yield f"only {len(rows.truth)} held-out rows: the numbers of this report may be chance"
    fold = rows.folds[0]
    mine = rows.take(np.flatnonzero(rows.fold_of == 0)).some(MAX_HELD_OUT)
    problem = _problem(estimator, number, fold, mine, labels)
    count = len(fold.table.values)
    split = Split(np.arange(count), np.arange(count, count + len(mine.truth)), how)
    single = _single(estimator, number, fold, labels)
    features, target = problem.features.iloc[split.held_out], problem.target.iloc[split.held_out]
    result = HeldOut(single, features, target, score(single, features, target))
    kinds = {column.name: column.kind for column in estimator.columns_.columns}
    weights = None if estimator.weights is None else str(estimator.weights)
    settings = FitSettings(estimator.mode, estimator.time_limit, estimator.seed_, kinds, weights)
    yield from cautions(problem, settings, split, result)


def _single(estimator: Estimator, number: int, fold: Fold, labels: np.ndarray) -> Estimator:
    """The estimator of one target, as if fitted to the training rows of a fold."""
    single = copy(estimator)
    single.tables_, single.predictors_ = [fold.table], [fold.predictor]
    single.rows_ = estimator.rows_[torch.from_numpy(fold.rows)]
    single.target_names_, single.multi_output_ = [estimator.target_names_[number]], False
    if fold.table.classes:
        single.classes_ = labels
    return single


def _problem(estimator: Estimator, number: int, fold: Fold, rows: HeldOutRows, labels: np.ndarray) -> Problem:
    """The training rows of a fold, then the held-out ones."""
    features = cells_of(estimator.columns_, torch.cat([fold.table.values, rows.values]))
    target = np.concatenate([fold.table.target.double().numpy(), rows.truth.astype(float)])
    if rows.classes:
        target = np.array([*labels.tolist(), UNSEEN], dtype=object)[np.minimum(target, rows.classes).astype(int)]
    series = pd.Series(target, name=estimator.target_names_[number] or "target")
    return Problem(features, series, np.arange(len(series)), 0, rows.classes > 0, "")
