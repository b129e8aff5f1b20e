"""Leaks: columns that give the target away by themselves, and held-out rows that repeat training rows.

The score of held-out rows is then high, and says little about new rows: such a column is often unknown when predictions
are made, and new rows are rarely repetitions.
"""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from regard.tables.estimators.classifier import NPTClassifier
from regard.tables.estimators.regressor import NPTRegressor
from regard.tables.scores import class_scores, number_scores, score
from regard.tables.splits import sample

SUSPICIOUS = {"auc": 0.98, "r2": 0.98}  # of all columns together: below, none can give the target away
LEAK = {"auc": 0.99, "r2": 0.98}  # of a column alone
MAX_ROWS = 5000  # that a tree of one column is grown on
MIN_DISTINCT = 50  # values of a number: rows of a few categories repeat by chance


@dataclass(frozen=True)
class HeldOut:
    """An estimator fitted without some rows, these rows, and its scores on them."""

    estimator: NPTClassifier | NPTRegressor
    features: pd.DataFrame
    target: pd.Series
    scores: dict[str, float]

    @property
    def metric(self) -> str:
        return "auc" if isinstance(self.estimator, NPTClassifier) else "r2"

    def score(self) -> float:
        return self.scores.get(self.metric, 0.0)

    def rescored(self, rows: np.ndarray) -> "HeldOut":
        """With some of the rows only."""
        features, target = self.features[rows], self.target[rows]
        return replace(self, features=features, target=target, scores=score(self.estimator, features, target))


def leaking_columns(held_out: HeldOut) -> dict[str, float]:
    """Columns that predict the target nearly perfectly by themselves, with their scores."""
    if held_out.score() < SUSPICIOUS[held_out.metric]:
        return {}
    columns, cells = held_out.estimator.columns_, held_out.estimator._encode(held_out.features).numpy()
    scores = {
        column.name: _score_alone(held_out, cells[:, places], places)
        for column, places in zip(columns.columns, columns.positions(), strict=True)
    }
    return {name: value for name, value in scores.items() if value >= LEAK[held_out.metric]}


def _score_alone(held_out: HeldOut, cells: np.ndarray, places: list[int]) -> float:
    """The score of a decision tree, or an interpolation, of one column."""
    table = held_out.estimator.tables_[0]
    some = sample(np.arange(len(table.values)), MAX_ROWS)  # the first ones of a sorted table would be of one class
    known, target = table.values[some][:, places].numpy(), table.target[some].numpy()
    if not table.classes:
        truth = held_out.target.to_numpy(dtype=float)
        tree = DecisionTreeRegressor(max_depth=10, min_samples_leaf=2, random_state=0).fit(known, target)
        predicted = [tree.predict(cells), _interpolated(known[:, 0], target, cells[:, 0])]
        return max(number_scores(truth, each).get("r2", 0.0) for each in predicted)
    tree = DecisionTreeClassifier(max_depth=10, min_samples_leaf=2, random_state=0).fit(known, target.astype(int))
    classes = np.asarray(held_out.estimator.classes_).tolist()
    probabilities = np.zeros((len(cells), len(classes)))
    probabilities[:, tree.classes_] = tree.predict_proba(cells)
    truth = held_out.target.map({label: number for number, label in enumerate(classes)})
    return class_scores(truth.fillna(len(classes)).to_numpy(dtype=int), probabilities).get("auc", 0.0)


def _interpolated(known: np.ndarray, target: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """The target on straight lines between the training rows: nearer than the steps of a tree if one is a copy."""
    filled = ~np.isnan(known)
    if not filled.any():
        return np.full(len(cells), target.mean())
    places, inverse = np.unique(known[filled], return_inverse=True)
    means = np.bincount(inverse, target[filled]) / np.bincount(inverse)
    return np.where(np.isnan(cells), target.mean(), np.interp(cells, places, means))


def repeated_rows(held_out: HeldOut) -> np.ndarray:
    """Which held-out rows have the cells of a training row; none of a table whose rows repeat by chance."""
    known = held_out.estimator.tables_[0].values.numpy()
    cells = held_out.estimator._encode(held_out.features).numpy()
    distinct = max((len(np.unique(column[~np.isnan(column)])) for column in known.T), default=0)
    if distinct < MIN_DISTINCT:
        return np.zeros(len(cells), dtype=bool)
    seen = {row.tobytes() for row in np.nan_to_num(known, nan=np.inf)}
    return np.array([row.tobytes() in seen for row in np.nan_to_num(cells, nan=np.inf)], dtype=bool)
