"""How good predictions are: AUC, accuracy and log-loss of classes; RMSE, MAE and R² of numbers."""

from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from regard.core.errors import UserError
from regard.tables.cells import ROW, read_codes, read_numbers
from regard.tables.estimator import NPTClassifier, NPTRegressor

Array = np.ndarray


def class_scores(truth: Array, chances: Float[Array, "row class"]) -> dict[str, float]:
    """`truth` counts the columns of `chances`; what it counts beyond them is a class that nobody knew of.

    A row of an unknown class is told wrong. It has no part in AUC and log-loss, which need a probability for it.
    """
    right = float((chances.argmax(1) == truth).mean())
    known = truth < chances.shape[1]
    truth, chances = truth[known], chances[known]
    scores = {"accuracy": right}
    if len(truth):
        own = np.clip(chances[np.arange(len(truth)), truth], 1e-15, 1)
        scores["log_loss"] = float(-np.log(own).mean())
    if len(np.unique(truth)) > 1:
        scores = {"auc": auc(truth, chances), **scores}
    return scores


def auc(truth: Array, chances: Float[Array, "row class"]) -> float:
    """Of two classes the area under the curve; of more the mean over their pairs (Hand and Till, 2001).

    The area is the share of a class's own rows that are given a greater chance of it than a row of another, equal ones
    counting half. So each class is sorted once for all its pairs: a thousand classes have half a million of those.
    """
    if np.isnan(chances).any():
        raise ValueError("probabilities must be numbers, not NaN")
    found: list[float] = []
    for side in np.unique(truth):
        rest = truth != side
        mine, theirs = np.sort(chances[~rest, side]), chances[rest, side]
        below = np.searchsorted(mine, theirs, "left") + np.searchsorted(mine, theirs, "right")
        sums, counts = np.bincount(truth[rest], 1 - below / (2 * len(mine))), np.bincount(truth[rest])
        found.extend(sums[counts > 0] / counts[counts > 0])
    return float(np.mean(found))


def number_scores(truth: Float[Array, " row"], answers: Float[Array, " row"]) -> dict[str, float]:
    off, around = truth - answers, truth - truth.mean()
    scores = {"rmse": float(np.sqrt(np.mean(off**2))), "mae": float(np.abs(off).mean())}
    if np.square(around).sum() > 0:  # one row, or rows that are all alike, have no R²
        scores["r2"] = float(1 - np.square(off).sum() / np.square(around).sum())
    return scores


def score(
    estimator: NPTClassifier | NPTRegressor, features: pd.DataFrame, target: pd.Series, number: int = 0
) -> dict[str, float]:
    """Of a fitted estimator on rows whose target, the `number`-th, is known."""
    if isinstance(estimator, NPTClassifier):
        labels, chances = estimator.classes_, estimator.predict_proba(features)
        if estimator.many_:
            labels, chances = labels[number], chances[number]
        return class_scores(read_codes(target, np.asarray(labels).tolist()).astype(int), chances)
    truth, told = read_numbers(target), estimator.predict(features)
    return number_scores(truth, told[:, number] if estimator.many_ else told)


def measure(estimator: NPTClassifier | NPTRegressor, frame: pd.DataFrame, source: str) -> dict[str, Any]:
    """Scores on a table that holds the target too, with what was counted; of several targets under their names."""
    if not estimator.many_:
        return _measured(estimator, frame, source, 0)
    found = {name: _measured(estimator, frame, source, number) for number, name in enumerate(estimator.target_names_)}
    return {f"{name}.{measure}": value for name, scores in found.items() for measure, value in scores.items()}


def _measured(estimator: NPTClassifier | NPTRegressor, frame: pd.DataFrame, source: str, number: int) -> dict[str, Any]:
    name = estimator.target_names_[number]
    if name is None:
        raise UserError("the target had no name when it was learned, so no column of a file can be compared with it")
    if name not in frame:
        raise UserError(f"{source}: has no column {name!r}, so there is nothing to compare predictions with")
    frame = frame.reset_index(drop=True).rename_axis(ROW)  # so that a wrong cell is named by its row in the file
    there = frame[name].notna()
    if not there.any():
        raise UserError(f"{source}: {name!r} is empty in every row, so there is nothing to compare predictions with")
    cells, features = frame.loc[there, name], frame[there].drop(columns=name)
    scores: dict[str, Any] = {**score(estimator, features, cells, number), "rows": int(there.sum())}
    if not there.all():
        scores["left_out"] = int((~there).sum())  # rows without a target
    return scores
