"""Evidence: the training rows and the columns that a prediction depends on.

Rows have the weight of their label in the prediction: label attention and kernel ridge, mixed by the gate. An NPT
trained from scratch has no label attention; there the weight is its attention between rows. Columns have their Shapley
values.
"""

from dataclasses import dataclass
from typing import Any

import pandas as pd

ROWS_PER_PASS = 64  # each has a weight for every training row


@dataclass(frozen=True)
class Evidence:
    """What one prediction depends on."""

    prediction: Any
    rows: pd.DataFrame  # training rows by index, the largest weight first: `weight`, `target`, keys, and their cells
    columns: pd.DataFrame  # by column, the largest first: `effect` on the prediction, and its standard `error`
    base: float  # the average prediction of training rows; with all effects it is `value`
    value: float  # the predicted number, or the probability of the predicted class
    is_probability: bool  # which of the two is explained
    context: int  # number of training rows with a weight
    attends_to_labels: bool  # whether weights are those of labels in the prediction, not of attention on the way
    own_row: int | None = None  # the training row that the query row is; it is left out of the rows
    keys: tuple[str, ...] = ()  # the first columns of `rows` after weight and target: they say which row it is
