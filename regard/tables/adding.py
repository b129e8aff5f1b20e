"""Rows that are added after the fit: more of them can be attended to, and nothing is trained.

The network reads them as context, and its closed forms are fitted anew; learned keys get more keys from the same
encoder; an NPT trained from scratch attends to them too; boosted trees stay as they were grown. So do the weights of
the ensemble, and its calibration; only mode `in_context`, which takes as long to fit, is calibrated anew, and is then
what a fit of all rows gives.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import torch
from sklearn.base import is_classifier
from torch import Tensor

from regard.core.errors import ConfigError
from regard.core.machine import seed_for
from regard.tables.encode.cells import ROW, read_codes
from regard.tables.encode.columns import Columns
from regard.tables.encode.frames import as_frame
from regard.tables.encode.growth import describe_again, extend_columns
from regard.tables.encode.keys import as_keys
from regard.tables.encode.table import EncodedTable, join
from regard.tables.encode.target import as_numbers, target_columns
from regard.tables.ensemble import Ensemble
from regard.tables.modes import in_context
from regard.tables.network.in_context import InContextPredictor
from regard.tables.network.scratch import NPTPredictor
from regard.tables.other_rows import with_rows
from regard.tables.predictor import Predictor
from regard.tables.repeats import repeated

Estimator = Any  # fitted: it calls this module, which therefore does not import its class


@dataclass(frozen=True)
class Addition:
    """Rows to be added, and the columns that know their categories."""

    columns: Columns
    tables: Sequence[EncodedTable]  # the new rows, one table for each target
    keys: pd.DataFrame  # of the new rows; missing where the table has no such column

    def take(self, rows: np.ndarray) -> "Addition":
        """Some of the rows."""
        tables = [table.take(torch.from_numpy(rows)) for table in self.tables]
        return Addition(self.columns, tables, self.keys.iloc[rows].reset_index(drop=True))


def encode_addition(estimator: Estimator, table: Any, y: Any) -> Addition:
    """Rows with known targets, as the estimator reads them."""
    frame = as_frame(table)
    targets = _encode_targets(estimator, y)
    if len(frame) != len(targets[0]):
        raise ConfigError(f"inconsistent numbers of samples: X has {len(frame)} rows and y {len(targets[0])}")
    columns = extend_columns(estimator.columns_, frame, type(estimator).__name__)
    values = torch.from_numpy(columns.encode(frame).values)
    known = zip(estimator.tables_, targets, strict=True)
    tables = [replace(table, values=values, target=target, source=None) for table, target in known]
    keys = as_keys(frame.reindex(columns=list(estimator.keys_)))
    return Addition(columns, tables, keys)


def known_already(estimator: Estimator, addition: Addition) -> np.ndarray:
    """Which of the rows are training rows, with all their targets; none of a table whose rows are equal by chance."""
    known = zip(estimator.tables_, addition.tables, strict=True)
    return np.logical_and.reduce(
        [repeated(addition.columns, old, new.values, new.target.to(old.target.dtype)) for old, new in known]
    )


def _encode_targets(estimator: Estimator, y: Any) -> list[Tensor]:
    targets = target_columns(y)
    if len(targets) != len(estimator.tables_):
        raise ConfigError(f"y: has {len(targets)} targets, not {len(estimator.tables_)} as in fit")
    if not is_classifier(estimator):
        return [as_numbers(target) for target in targets]
    labels = estimator.classes_ if estimator.multi_output_ else [estimator.classes_]
    index = y.index if isinstance(y, pd.Series | pd.DataFrame) and y.index.name == ROW else None
    return [_encode_classes(target, known, index) for target, known in zip(targets, labels, strict=True)]


def _encode_classes(target: np.ndarray, labels: np.ndarray, index: pd.Index | None) -> Tensor:
    codes = read_codes(pd.Series(target), np.asarray(labels).tolist())
    new = np.flatnonzero(codes == len(labels))
    if len(new):
        row = new[0] if index is None else index[new[0]]
        where = f"row {row} (counted from 0) is of the class {str(target[new[0]])[:40]!r}"
        raise ConfigError(f"y: {where}, which no training row has; a new class needs a new fit of all rows")
    return torch.from_numpy(codes).float()


def add_rows(estimator: Estimator, addition: Addition, rows: Tensor | None = None) -> None:
    """Make the rows training rows; `rows` are their numbers, by default from the last training row on."""
    tables = [join(pair) for pair in zip(estimator.tables_, addition.tables, strict=True)]
    count = len(addition.tables[0].values)
    rows = next_row(estimator) + torch.arange(count) if rows is None else rows
    known = zip(estimator.predictors_, tables, strict=True)
    with torch.random.fork_rng(devices=[]):  # leave the caller's random state alone
        predictors = [_final(estimator, predictor, table) for predictor, table in known]
    estimator.columns_ = describe_again(addition.columns, tables[0].values.numpy())
    estimator.rows_ = torch.cat([estimator.rows_, rows])
    estimator.keys_ = pd.concat([estimator.keys_, addition.keys], ignore_index=True)
    estimator.tables_, estimator.predictors_ = tables, predictors


def next_row(estimator: Estimator) -> int:
    """The number of the first row that is added."""
    return int(estimator.rows_.max()) + 1


def _final(estimator: Estimator, predictor: Predictor, table: EncodedTable) -> Predictor:
    if estimator.mode == "in_context" and isinstance(predictor, Ensemble):
        (only,) = predictor.predictors
        assert isinstance(only, InContextPredictor)
        return in_context(only.model, table, only.settings.count, estimator.seed_)
    return extend_predictor(predictor, table, len(estimator.rows_), estimator.seed_)


def extend_predictor(predictor: Predictor, table: EncodedTable, known: int, seed: int) -> Predictor:
    """The predictor with a table whose first `known` rows are its own."""
    if isinstance(predictor, NPTPredictor):
        return _extend_scratch(predictor, table, known, seed)
    return with_rows(predictor, table, seed)


def _extend_scratch(predictor: NPTPredictor, table: EncodedTable, known: int, seed: int) -> NPTPredictor:
    """New rows stand before those without a target, and as large a fraction of them is attended to."""
    standardised, context = predictor.table, predictor.context_rows
    values, target = table.values[known:], table.target[known:]
    new = standardised.encode_queries(values)
    new[:, -1] = ((target.double() - standardised.mean[-1]) / standardised.std[-1]).float()
    cells = torch.cat([standardised.cells[:known], new, standardised.cells[known:]])
    share = len(context) / len(standardised.cells)
    order = torch.randperm(len(new), generator=torch.Generator().manual_seed(seed_for("added", seed, known)))
    some = order[: max(1, round(share * len(new)))] + known
    moved = torch.where(context < known, context, context + len(new))
    context = torch.cat([moved, some])
    return NPTPredictor(predictor.model, replace(standardised, cells=cells), context, predictor.residuals)
