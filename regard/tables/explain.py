"""Evidence: the training rows and the cells that a prediction depends on.

Rows have the weight of their label in the prediction: label attention and kernel ridge, mixed by the gate. An NPT
trained from scratch has no label attention; there the weight is its attention between rows. A column's weight is how
far the prediction changes when the cell is masked.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from regard.tables.predictor import Predictor

ROWS_PER_PASS = 64  # each has a weight for every training row
MASKED_PER_PASS = 2048  # rows, each with another cell masked


@dataclass(frozen=True)
class Evidence:
    """What one prediction depends on."""

    prediction: Any
    rows: pd.DataFrame  # training rows by index, the largest weight first: `weight`, `target`, and their cells
    columns: pd.Series  # change of the prediction when the cell is masked, normalised to sum 1, the largest first
    context: int  # number of training rows with a weight
    attends_to_labels: bool  # whether weights are those of labels in the prediction, not of attention on the way


def column_weights(
    predictor: Predictor, values: Float[Tensor, "row cell"], columns: list[list[int]], classes: int
) -> Float[Tensor, "row column"]:
    """How far the prediction changes when a column's cells are masked, normalised to sum 1."""
    changes = []
    for rows in values.split(max(1, MASKED_PER_PASS // len(columns))):
        reference = predictor.predict(rows)
        some = (columns[first : first + MASKED_PER_PASS] for first in range(0, len(columns), MASKED_PER_PASS))
        change = torch.cat([(_masked(predictor, rows, places) - reference).abs() for places in some])
        # Of classes the total variation distance; of a number the change of its mean.
        distance = (change.sum(2) / 2 if classes else change[:, :, 0]).T
        missing = torch.stack([rows[:, places].isnan().all(1) for places in columns], 1)
        changes.append(distance.masked_fill(missing, 0.0))  # nothing was masked; the rest is rounding error
    distance = torch.cat(changes)
    return distance / distance.sum(1, keepdim=True).clamp(min=1e-12)


def _masked(
    predictor: Predictor, rows: Float[Tensor, "row cell"], columns: Sequence[list[int]]
) -> Float[Tensor, "column row prediction"]:
    """The predictions with each of the columns masked."""
    masked = rows.repeat(len(columns), 1, 1)  # column, row, cell
    for number, places in enumerate(columns):
        masked[number, :, places] = torch.nan
    return predictor.predict(masked.flatten(0, 1)).unflatten(0, masked.shape[:2])
