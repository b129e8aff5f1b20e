"""Soft labels: what the teacher predicts for each training row without having seen it (k-fold).

A teacher that attends to its training rows finds each of them among its keys, and would only repeat its label. So every
row is predicted from the other folds.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.tables.encode.table import EncodedTable
from regard.tables.folds import assign_folds
from regard.tables.predictor import Predictor

Teach = Callable[[EncodedTable, float], Predictor]  # fits a teacher to rows, in so many seconds
FOLDS = 5

logger = logging.getLogger("regard.tables")


@dataclass(frozen=True)
class Labelled:
    """Rows with what a teacher predicts for them: class probabilities, or the mean and the quantiles of a number."""

    table: EncodedTable
    prediction: Float[Tensor, "row prediction"]

    def take(self, rows: Int[Tensor, " row"]) -> "Labelled":
        return Labelled(self.table.take(rows), self.prediction[rows])

    def __len__(self) -> int:
        return len(self.prediction)


def out_of_fold(teach: Teach, table: EncodedTable, seed: int, seconds: float) -> Labelled:
    """Each row as predicted by a teacher of the other folds; equal rows are in one fold."""
    fold_of = assign_folds(table, FOLDS, seed)
    prediction: Tensor | None = None
    for fold in range(FOLDS):
        held_out = (fold_of == fold).nonzero()[:, 0]
        if not len(held_out):  # nearly all rows are equal
            continue
        predicted = teach(table.take((fold_of != fold).nonzero()[:, 0]), seconds / FOLDS).predict(
            table.values[held_out]
        )
        if prediction is None:
            prediction = predicted.new_zeros(len(table.values), predicted.shape[1])
        prediction[held_out] = predicted
        logger.info("soft labels: fold %d of %d", fold + 1, FOLDS)
    assert prediction is not None
    return Labelled(table, prediction)


def hard_labels(table: EncodedTable) -> Labelled:
    """The labels as they are: all of the probability on one class, or a number and its quantiles, all the same."""
    if table.classes:
        return Labelled(table, torch.nn.functional.one_hot(table.target.long(), table.classes).float())
    return Labelled(table, table.target.double()[:, None].expand(-1, 4).clone())


def blend(table: EncodedTable, soft: Float[Tensor, "row prediction"], share: float) -> Labelled:
    """Soft labels with this share beside the true ones; a number's quantiles move with its mean."""
    if table.classes:
        hard = hard_labels(table).prediction
        return Labelled(table, share * soft + (1 - share) * hard)
    return Labelled(table, soft + (1 - share) * (table.target.double() - soft[:, 0])[:, None])
