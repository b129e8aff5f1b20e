"""Leaks: columns that give the target away by themselves, and held-out rows that repeat training rows.

The score of held-out rows is then high, and says little about new rows: such a column is often unknown when predictions
are made, and new rows are rarely repetitions.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from regard.tables.estimators.classifier import NPTClassifier
from regard.tables.estimators.regressor import NPTRegressor
from regard.tables.scores import class_scores, known_rows, number_scores, score
from regard.tables.splits import sample

SUSPICIOUS = {"auc": 0.98, "r2": 0.98}  # of all columns together: below, none can give the target away
LEAK = {"auc": 0.99, "r2": 0.98}  # of a column alone
MAX_ROWS = 5000  # that a tree of one column is grown on


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
        """NaN where it is undefined, as where all rows are of one class."""
        return self.scores.get(self.metric, math.nan)

    def rescored(self, rows: np.ndarray) -> "HeldOut":
        """With some of the rows only."""
        features, target = self.features[rows], self.target[rows]
        return replace(self, features=features, target=target, scores=score(self.estimator, features, target))


def leaking_columns(held_out: HeldOut) -> dict[str, float]:
    """Columns that predict the target nearly perfectly by themselves, with their scores."""
    if not held_out.score() >= SUSPICIOUS[held_out.metric]:
        return {}
    columns, cells = held_out.estimator.columns_, held_out.estimator._encode(held_out.features).numpy()
    scores = {
        column.name: _score_alone(held_out, cells[:, places], places, column.kind == "category")
        for column, places in zip(columns.columns, columns.positions(), strict=True)
    }
    return {name: value for name, value in scores.items() if value >= LEAK[held_out.metric]}


def _score_alone(held_out: HeldOut, cells: np.ndarray, places: list[int], category: bool) -> float:
    """The score of one column: of the mean target of each category, of a decision tree, or of an interpolation."""
    table = held_out.estimator.tables_[0]
    some = sample(np.arange(len(table.values)), MAX_ROWS)  # the first ones of a sorted table would be of one class
    known, target = table.values[some][:, places].numpy(), table.target[some].numpy()
    if not table.classes:
        truth = held_out.target.to_numpy(dtype=float)
        if category:
            return number_scores(truth, _looked_up(known[:, 0], target, cells[:, 0])).get("r2", 0.0)
        tree = DecisionTreeRegressor(max_depth=10, min_samples_leaf=2, random_state=0).fit(known, target)
        predicted = [tree.predict(cells), _interpolated(known[:, 0], target, cells[:, 0])]
        return max(number_scores(truth, each).get("r2", 0.0) for each in predicted)
    classes = np.asarray(held_out.estimator.classes_).tolist()
    probabilities = np.zeros((len(cells), len(classes)))
    if category:
        for number in range(len(classes)):
            probabilities[:, number] = _looked_up(known[:, 0], (target == number).astype(float), cells[:, 0])
    else:
        tree = DecisionTreeClassifier(max_depth=10, min_samples_leaf=2, random_state=0).fit(known, target.astype(int))
        probabilities[:, tree.classes_] = tree.predict_proba(cells)
    truth = held_out.target.map({label: number for number, label in enumerate(classes)})
    return class_scores(truth.fillna(len(classes)).to_numpy(dtype=int), probabilities).get("auc", 0.0)


def _looked_up(known: np.ndarray, target: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """The mean target of the training rows with the same category, or of all if there are none.

    Codes of categories have no order, so a tree that splits them finds little where categories are many.
    """
    means = pd.Series(target).groupby(known, dropna=False).mean()
    return pd.Series(cells).map(means).fillna(float(target.mean())).to_numpy(dtype=float)


def _interpolated(known: np.ndarray, target: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """The target on straight lines between the training rows: nearer than the steps of a tree if one is a copy."""
    filled = ~np.isnan(known)
    if not filled.any():
        return np.full(len(cells), target.mean())
    places, inverse = np.unique(known[filled], return_inverse=True)
    means = np.bincount(inverse, target[filled]) / np.bincount(inverse)
    return np.where(np.isnan(cells), target.mean(), np.interp(cells, places, means))


def repeated_rows(held_out: HeldOut) -> np.ndarray:
    """Which held-out rows repeat training rows; none of a table whose rows are equal by chance."""
    return known_rows(held_out.estimator, held_out.features, held_out.target)
