"""Any column as the target: a fitted table holds its training rows, and the network can predict each of their columns.

The rows are decoded, the old target becomes a feature, and another column the target of mode `in_context`. What the new
rows do not have is left out on both sides: a feature that is known in every training row and missing in every new one
would mislead.
"""

from typing import Any

import numpy as np
import pandas as pd
import torch

from regard.core.errors import ConfigError
from regard.tables.encode.columns import nearest
from regard.tables.encode.frames import as_frame
from regard.tables.estimators.classifier import NPTClassifier
from regard.tables.estimators.regressor import NPTRegressor

KINDS = ("number", "category")  # that can be predicted


def retarget(estimator: NPTClassifier | NPTRegressor, column: str, table: Any = None) -> NPTClassifier | NPTRegressor:
    """An estimator of another column, with the training rows of a fitted one as context; nothing is trained.

    `table` is one to be predicted: columns that it does not have, the old target among them, are not used.
    """
    kinds = _kinds(estimator)
    if column in estimator.keys_:
        raise ConfigError(
            f"target: {column!r} was ignored in the fit, so nothing is known of it; fit again without --ignore (or "
            f"--group) {column}"
        )
    if column not in kinds:
        raise ConfigError(f"target: the training rows have no column {column!r}; {nearest(column, list(kinds))}")
    if kinds[column] not in KINDS:
        raise ConfigError(f"target: {column!r} is a {kinds[column]}; a number or a category can be predicted")
    rows = _training_rows(estimator)
    known = np.flatnonzero(rows[column].notna())
    copies = estimator.tables_[0].copies(torch.from_numpy(known))
    counts = None if copies is None else copies.counts.numpy()
    known = known if copies is None else known[copies.first.numpy()]
    features = [name for name in rows if name != column and (table is None or name in _filled(as_frame(table)))]
    if not features:
        raise ConfigError(f"target: the table has no filled column but {column!r} in common with the training rows")
    kind = NPTRegressor if kinds[column] == "number" else NPTClassifier
    other = kind(
        mode="in_context",
        members=estimator.members,
        weights=estimator.weights,
        kinds={name: kinds[name] for name in features},
        random_state=estimator.seed_,
        n_jobs=estimator.n_jobs,
    )
    other.fit(rows.loc[known, features], rows.loc[known, column].infer_objects(), counts)
    places = known[other.rows_.numpy()]
    other.rows_ = estimator.rows_[torch.from_numpy(places)]
    other.keys_ = estimator.keys_.iloc[places].reset_index(drop=True)
    return other


def _kinds(estimator: NPTClassifier | NPTRegressor) -> dict[str, str]:
    """The kinds of all columns that hold anything, and of the targets that have a name."""
    targets = "category" if isinstance(estimator, NPTClassifier) else "number"
    kinds: dict[str, str] = {column.name: column.kind for column in estimator.columns_.columns if column.filled}
    return kinds | {name: targets for name in estimator.target_names_ if name is not None}


def _training_rows(estimator: NPTClassifier | NPTRegressor) -> pd.DataFrame:
    """Features and targets, as far as the encoding keeps them: seven digits, 300 characters."""
    rows = estimator.columns_.decode(estimator.tables_[0].values.numpy())
    labels = getattr(estimator, "classes_", None)
    for number, (name, table) in enumerate(zip(estimator.target_names_, estimator.tables_, strict=True)):
        target = table.target.numpy()
        if labels is not None:
            target = np.asarray(labels[number] if estimator.multi_output_ else labels)[target.astype(int)]
        if name is not None:
            rows[name] = target
    return rows[list(_kinds(estimator))]


def _filled(frame: pd.DataFrame) -> list[str]:
    return [str(name) for name in frame if frame[name].notna().any()]
