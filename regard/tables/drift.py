"""Drift: are new rows unlike the training rows? A classifier tries to tell them apart (Lopez-Paz & Oquab, 2017).

The pre-trained network is the classifier, so nothing is trained; it predicts each half of a sample with the other half
as context. Rows of the same distribution cannot be distinguished: the area under the ROC curve is
near one half. Both sides are decoded and encoded anew together, so that no trace of the fit, such as which categories
it knew, gives a row away. Dates and identifiers are left out: new rows are later and have other numbers by nature (see
`beyond_range`).
"""

import logging
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from regard.core.errors import ConfigError
from regard.core.machine import seed_for
from regard.models.in_context import InContextModel
from regard.tables.column_drift import ColumnDrift, column_drift
from regard.tables.data_checks import identifiers
from regard.tables.encode.columns import Columns
from regard.tables.encode.frames import as_frame
from regard.tables.encode.growth import extend_columns
from regard.tables.encode.table import EncodedTable
from regard.tables.network.in_context import InContextPredictor, Members
from regard.tables.network.pretrained import pretrained_model

MAX_ROWS = 500  # of each side
MIN_ROWS = 50  # new rows: fewer hardly tell
MIN_HALF = 10  # rows of a side in each half
CLEARLY = 0.65  # least AUC, with 97.5 % confidence, to speak of a difference
NORMAL = 1.96  # standard errors
NAMED = 3  # columns in a line

logger = logging.getLogger("regard.tables")

Estimator = Any  # fitted: it calls this module, which therefore does not import its class


@dataclass(frozen=True)
class Drift:
    """How well new rows can be distinguished from training rows, and by which columns."""

    auc: float  # 0.5: not at all, 1: perfectly
    low: float  # 95 % interval of it
    high: float
    columns: tuple[ColumnDrift, ...]  # that differ by themselves, the largest distance first

    @property
    def differs(self) -> bool:
        """Whether the rows are clearly unlike each other."""
        return self.low > CLEARLY

    def __str__(self) -> str:
        if not self.differs:
            return f"the rows do not differ clearly from the training rows (AUC {self.auc:.2f} of a classifier)"
        named = ", ".join(f"{one.name} ({one.change})" for one in self.columns[:NAMED])
        where = f"mostly in {named}" if named else "in no column by itself"
        return (
            f"the rows differ from the training rows (a classifier tells them apart with AUC {self.auc:.2f}): {where}"
        )


def find_drift(estimator: Estimator, table: Any) -> Drift:
    """Compare a sample of new rows with one of the training rows."""
    frame = as_frame(table)
    if len(frame) < MIN_ROWS:
        raise ConfigError(f"drift: needs at least {MIN_ROWS} rows to compare, not {len(frame)}")
    frame = frame.iloc[_sample(len(frame), estimator.seed_)]
    columns = extend_columns(estimator.columns_, frame, type(estimator).__name__)
    copies = estimator.tables_[0].copies()  # a row with a weight is one of the rows to compare
    known = estimator.tables_[0].values if copies is None else estimator.tables_[0].values[copies.first]
    before = columns.decode(known[_sample(len(known), estimator.seed_)].numpy())
    after = columns.decode(columns.encode(frame).values)
    new_by_nature = identifiers(estimator.columns_, known.numpy())
    used = {
        column.name: column.kind
        for column in columns.columns
        if column.filled and column.kind != "date" and column.name not in new_by_nature
    }
    if not used:
        raise ConfigError("drift: there is no column to compare but dates and identifiers")
    pooled = pd.concat([before, after], ignore_index=True)[list(used)]
    pooled = pooled.loc[:, pooled.notna().any()]
    kinds = {name: kind for name, kind in used.items() if name in pooled}
    fitted, cells = Columns.fit_encode(pooled.infer_objects(), kinds, None)
    new = np.arange(len(pooled)) >= len(before)
    values = torch.from_numpy(cells.values)
    labelled = EncodedTable(values, torch.from_numpy(cells.category), torch.from_numpy(new).float(), 2)
    auc, error = _cross_fitted_auc(pretrained_model(), labelled, estimator.seed_)
    return Drift(auc, max(0.0, auc - NORMAL * error), min(1.0, auc + NORMAL * error), column_drift(fitted, values, new))


def note_drift(estimator: Estimator, frame: pd.DataFrame) -> str:
    """A line if the rows of a file are clearly unlike the training rows; empty otherwise. It never fails."""
    if len(frame) < MIN_ROWS:
        return ""
    try:
        drift = find_drift(estimator, frame)
    except Exception as error:  # a prediction is worth more than a note on it
        logger.debug("drift: %s", error)
        return ""
    return str(drift) if drift.differs else ""


def _sample(count: int, seed: int) -> np.ndarray:
    """Rows drawn at random, ascending."""
    rng = np.random.default_rng(seed)
    return np.sort(rng.choice(count, min(count, MAX_ROWS), replace=False))


def _cross_fitted_auc(model: InContextModel, table: EncodedTable, seed: int) -> tuple[float, float]:
    """The AUC of rows that were not context, and its standard error.

    Equal rows are in the same half: if many rows are among both the training and the new rows, a row whose twin is
    context is known to be from the other side.
    """
    generator = torch.Generator().manual_seed(seed_for("drift", seed))
    rows, same = torch.unique(table.values.nan_to_num(nan=torch.inf), dim=0, return_inverse=True)
    half = (torch.randperm(len(rows), generator=generator) % 2 == 0)[same]
    halves = [half.nonzero()[:, 0], (~half).nonzero()[:, 0]]
    if min(int(torch.bincount(table.target[each].long(), minlength=2).min()) for each in halves) < MIN_HALF:
        return 0.5, 0.5  # nearly all rows are equal
    areas, errors = [], []
    for context, queries in (halves, halves[::-1]):
        predictor = InContextPredictor(model, table.take(context), Members(1), seed)
        area, error = _auc(predictor.predict(table.values[queries])[:, 1], table.target[queries] == 1)
        areas.append(area)
        errors.append(error)
    # The two halves have other classifiers, so their scores are not comparable; their areas are.
    return sum(areas) / 2, math.hypot(*errors) / 2


def _auc(score: Float[Tensor, " row"], positive: Tensor) -> tuple[float, float]:
    """The area under the ROC curve, and its standard error (Hanley & McNeil, 1982)."""
    new, old = score[positive].double(), score[~positive].double().sort().values
    below = torch.searchsorted(old, new) + torch.searchsorted(old, new, right=True)
    area = float(below.double().mean()) / (2 * len(old))
    one, two = area / (2 - area), 2 * area**2 / (1 + area)
    rest = (len(new) - 1) * (one - area**2) + (len(old) - 1) * (two - area**2)
    return area, math.sqrt(max(0.0, area * (1 - area) + rest) / (len(new) * len(old)))
