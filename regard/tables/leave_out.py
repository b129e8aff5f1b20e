"""Leaving a training row out: the same networks, without this row among those that predictions attend to.

A row that is known predicts itself: it would be its own nearest neighbour. Without it, its prediction is nearly that of
a new row. Nearly, because networks and trees that were trained on the table have seen it.
"""

from copy import copy
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from regard.tables.estimators.classifier import NPTClassifier
from regard.tables.estimators.regressor import NPTRegressor
from regard.tables.network.scratch import NPTPredictor
from regard.tables.other_rows import with_rows

Estimator = NPTClassifier | NPTRegressor
MIN_ROWS = 3  # with fewer, nothing would be left to attend to


def leave_out(estimator: Estimator, row: int) -> Estimator:
    """A fitted estimator without a training row, given by its number; the estimator itself if it has none such."""
    rest = (estimator.rows_ != row).nonzero()[:, 0]
    if len(rest) == len(estimator.rows_) or len(rest) < MIN_ROWS - 1:
        return estimator
    other: Any = copy(estimator)
    other.rows_, other.keys_ = estimator.rows_[rest], estimator.keys_.iloc[rest.numpy()].reset_index(drop=True)
    other.tables_ = [table.take(rest) for table in estimator.tables_]
    other.predictors_ = [
        _rebuilt_scratch(predictor, rest, len(estimator.rows_))
        if isinstance(predictor, NPTPredictor)
        else with_rows(predictor, table, estimator.seed_)
        for predictor, table in zip(estimator.predictors_, other.tables_, strict=True)
    ]
    return other


def _rebuilt_scratch(predictor: NPTPredictor, rest: Int[Tensor, " row"], known: int) -> NPTPredictor:
    """With the `rest` of the `known` rows."""
    cells = predictor.table.cells
    selected = torch.arange(len(cells)) >= known  # rows without a target, which stand after the others, stay
    selected[rest] = True
    places = selected.cumsum(0) - 1
    context = predictor.context_rows[selected[predictor.context_rows]]
    table = replace(predictor.table, cells=cells[selected])
    return NPTPredictor(predictor.model, table, places[context], predictor.residuals)
