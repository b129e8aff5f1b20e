"""Scores: AUC, accuracy and log-loss of classes; RMSE, MAE and R² of numbers."""

from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float

from regard.core.errors import UserError
from regard.tables.encode.cells import ROW, read_codes, read_numbers
from regard.tables.estimators.classifier import NPTClassifier
from regard.tables.estimators.regressor import NPTRegressor
from regard.tables.lift import lift_table
from regard.tables.predictor import interpolate_quantiles
from regard.tables.rare_class import check_threshold, choose_class, confusion, detection_scores, rare_class
from regard.tables.repeats import repeated

Array = np.ndarray
NAMES = {"auc": "AUC", "accuracy": "accuracy", "log_loss": "log-loss", "rmse": "RMSE", "mae": "MAE", "r2": "R²"}
INTERVAL = (0.05, 0.95)  # levels
MAJORITY, DETECTED_ROWS = "most_frequent_training_class_accuracy", "detected_class_rows"
TRAINING_ROWS = "training_rows"  # of the rows that are scored
MAX_CONFUSED = 10  # classes of a confusion matrix


def class_scores(truth: Array, probabilities: Float[Array, "row class"]) -> dict[str, float]:
    """Scores of class probabilities; `truth` holds column indices, larger ones for classes unseen in training.

    A row of an unseen class is an error. AUC and log-loss leave it out, as it has no probability.
    """
    right = float((probabilities.argmax(1) == truth).mean())
    known = truth < probabilities.shape[1]
    truth, probabilities = truth[known], probabilities[known]
    scores = {"accuracy": right}
    if len(truth):
        likelihood = np.clip(probabilities[np.arange(len(truth)), truth], 1e-15, 1)
        scores["log_loss"] = float(-np.log(likelihood).mean())
    if len(np.unique(truth)) > 1:
        scores = {"auc": auc(truth, probabilities), **scores}
    return scores


def auc(truth: Array, probabilities: Float[Array, "row class"]) -> float:
    """The area under the ROC curve; of more than two classes its mean over pairs (Hand and Till, 2001).

    The area is the probability that a row of the class has a larger score than one of the other class, ties counting
    half. Each class is sorted once for all its pairs: a thousand classes have half a million of them.
    """
    if np.isnan(probabilities).any():
        raise ValueError("probabilities must be numbers, not NaN")
    areas: list[float] = []
    for label in np.unique(truth):
        rest = truth != label
        positive, negative = np.sort(probabilities[~rest, label]), probabilities[rest, label]
        below = np.searchsorted(positive, negative, "left") + np.searchsorted(positive, negative, "right")
        sums, counts = np.bincount(truth[rest], 1 - below / (2 * len(positive))), np.bincount(truth[rest])
        areas.extend(sums[counts > 0] / counts[counts > 0])
    return float(np.mean(areas))


def number_scores(truth: Float[Array, " row"], predicted: Float[Array, " row"]) -> dict[str, float]:
    residual, deviation = truth - predicted, truth - truth.mean()
    scores = {"rmse": float(np.sqrt(np.mean(residual**2))), "mae": float(np.abs(residual).mean())}
    if np.square(deviation).sum() > 0:  # undefined for a constant target
        scores["r2"] = float(1 - np.square(residual).sum() / np.square(deviation).sum())
    return scores


def trivial_scores(estimator: NPTClassifier | NPTRegressor, target: pd.Series, number: int = 0) -> dict[str, float]:
    """What scores of classes are to be compared with: the accuracy of always predicting the most frequent class of the
    training rows, and of two classes how many of these rows are of the one to detect."""
    if not isinstance(estimator, NPTClassifier):
        return {}
    labels = np.asarray(estimator.classes_[number] if estimator.multi_output_ else estimator.classes_).tolist()
    codes, rare = read_codes(target, labels), rare_class(estimator, number)
    scores = {MAJORITY: float((codes == int(estimator.class_counts(number).argmax())).mean())}
    return scores if rare is None else {**scores, DETECTED_ROWS: int((codes == rare).sum())}


def score(
    estimator: NPTClassifier | NPTRegressor, features: pd.DataFrame, target: pd.Series, number: int = 0
) -> dict[str, float]:
    """The scores of a fitted estimator on rows with a known target, the `number`-th of several."""
    if isinstance(estimator, NPTClassifier):
        labels, probabilities = estimator.classes_, estimator.predict_proba(features)
        if estimator.multi_output_:
            labels, probabilities = labels[number], probabilities[number]
        return class_scores(read_codes(target, np.asarray(labels).tolist()).astype(int), probabilities)
    truth, predicted = read_numbers(target), estimator.predict(features)
    return number_scores(truth, predicted[:, number] if estimator.multi_output_ else predicted)


def evaluate(
    estimator: NPTClassifier | NPTRegressor, frame: pd.DataFrame, source: str, threshold: float | None = None
) -> dict[str, Any]:
    """Scores on a table with the target, and the number of rows; those of several targets are prefixed by name."""
    check_threshold(estimator, threshold)
    if not estimator.multi_output_:
        return _evaluate_target(estimator, frame, source, 0, threshold)
    by_target = {
        name: _evaluate_target(estimator, frame, source, number) for number, name in enumerate(estimator.target_names_)
    }
    return {f"{name}.{metric}": value for name, scores in by_target.items() for metric, value in scores.items()}


def _evaluate_target(
    estimator: NPTClassifier | NPTRegressor,
    frame: pd.DataFrame,
    source: str,
    number: int,
    threshold: float | None = None,
) -> dict[str, Any]:
    name = estimator.target_names_[number]
    if name is None:
        raise UserError("the target had no name in fit, so no column of a file can be compared with it")
    if name not in frame:
        raise UserError(f"{source}: has no column {name!r}, so there is nothing to compare predictions with")
    frame = frame.reset_index(drop=True).rename_axis(ROW)  # so that errors name the row in the file
    known = frame[name].notna()
    if not known.any():
        raise UserError(f"{source}: {name!r} is empty in every row, so there is nothing to compare predictions with")
    cells, features = frame.loc[known, name], frame[known].drop(columns=name)
    scores: dict[str, Any] = (
        _with_coverage(estimator, features, cells, number)
        if isinstance(estimator, NPTRegressor)
        else score(estimator, features, cells, number)
    )
    scores |= {**trivial_scores(estimator, cells, number), "rows": int(known.sum())}
    if isinstance(estimator, NPTClassifier) and estimator.tables_[number].classes <= MAX_CONFUSED:
        scores |= _detection(estimator, features, cells, number, threshold)
    if count := int(known_rows(estimator, features, cells, number).sum()):
        scores[TRAINING_ROWS] = count
    if not known.all():
        scores["dropped"] = int((~known).sum())  # rows without a target
    return scores


def _with_coverage(estimator: NPTRegressor, features: pd.DataFrame, cells: pd.Series, number: int) -> dict[str, float]:
    """The scores of a number, and the fraction of rows inside the 90 % interval."""
    truth, output = read_numbers(cells), estimator._predictions(features)[number]  # the mean and the quantiles
    low, high = interpolate_quantiles(output, INTERVAL).double().numpy().T
    inside = float(((low <= truth) & (truth <= high)).mean())
    return {**number_scores(truth, output[:, 0].double().numpy()), "coverage_90": inside}


def known_rows(
    estimator: NPTClassifier | NPTRegressor, features: pd.DataFrame, cells: pd.Series, number: int = 0
) -> Array:
    """Which of the rows repeat training rows, with their target; none of a table whose rows are equal by chance."""
    if isinstance(estimator, NPTClassifier):
        labels = estimator.classes_[number] if estimator.multi_output_ else estimator.classes_
        target = read_codes(cells, np.asarray(labels).tolist())
    else:
        target = read_numbers(cells)
    table = estimator.tables_[number]
    targets = torch.tensor(target, dtype=table.target.dtype)
    return repeated(estimator.columns_, table, estimator._encode(features), targets)


def _detection(
    estimator: NPTClassifier, features: pd.DataFrame, cells: pd.Series, number: int, threshold: float | None
) -> dict[str, Any]:
    """How the rarer of two classes is detected, and which classes are taken for which."""
    labels, probabilities = estimator.classes_, estimator.predict_proba(features)
    if estimator.multi_output_:
        labels, probabilities = labels[number], probabilities[number]
    names = np.asarray(labels).tolist()
    codes = read_codes(cells, names).astype(int)
    chosen, scores = choose_class(estimator, probabilities, threshold, number), dict[str, Any]()
    rare = rare_class(estimator, number)
    if rare is not None:
        detected: dict[str, Any] = {**detection_scores(codes == rare, probabilities[:, rare], threshold or 0.5)}
        if not (chosen == rare).any():
            detected["precision"] = None  # of no rows
        lift = lift_table(codes == rare, probabilities[:, rare])
        scores = {"detected_class": str(names[rare]), **detected, "lift": lift}
    if threshold is not None:
        scores["accuracy"] = float((chosen == codes).mean())
    return {**scores, "confusion": confusion(codes, chosen, names)}
