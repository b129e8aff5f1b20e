"""Predictions as a table: the prediction, then class probabilities or quantiles."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from regard.tables.estimators.classifier import NPTClassifier
from regard.tables.estimators.regressor import NPTRegressor
from regard.tables.plain_numbers import percent_text, plain_number
from regard.tables.predictor import interpolate_quantiles
from regard.tables.ranges import check_levels
from regard.tables.rare_class import check_threshold, choose_class

LEVELS = (0.05, 0.5, 0.95)


@dataclass(frozen=True)
class TargetPredictions:
    """The predictions of one target."""

    target: str
    predictions: np.ndarray  # of each row
    names: list[str]  # of classes, or of quantiles
    values: np.ndarray  # of each row and name: probabilities, or quantiles
    classifies: bool


def predict_targets(
    estimator: NPTClassifier | NPTRegressor,
    frame: pd.DataFrame,
    levels: Sequence[float] = LEVELS,
    threshold: float | None = None,
) -> list[TargetPredictions]:
    """The predictions of each target. With a `threshold`, the rarer of two classes is predicted from there on."""
    check_threshold(estimator, threshold)
    targets = [
        name or f"target{number if estimator.multi_output_ else ''}"
        for number, name in enumerate(estimator.target_names_)
    ]
    if isinstance(estimator, NPTClassifier):
        probabilities, labels = estimator.predict_proba(frame), estimator.classes_
        many = estimator.multi_output_
        parts = zip(labels, probabilities, strict=True) if many else [(labels, probabilities)]
        predicted = [
            (names[choose_class(estimator, each, threshold)], [f"p_{name}" for name in names], each)
            for names, each in parts
        ]
    else:
        check_levels(levels)
        names = [f"q{100 * level:g}" for level in levels]
        predicted = [  # one output holds the mean and the quantiles
            (output[:, 0].double().numpy(), names, interpolate_quantiles(output, levels).double().numpy())
            for output in estimator._predictions(frame)
        ]
    classifies = isinstance(estimator, NPTClassifier)
    return [TargetPredictions(target, *each, classifies) for target, each in zip(targets, predicted, strict=True)]


def join_columns(table: pd.DataFrame, predicted: pd.DataFrame) -> pd.DataFrame:
    """Columns of the table beside the predictions; a column of the same name, such as the target, is marked."""
    table = table.rename(columns={name: f"{name} (in the table)" for name in table if name in predicted})
    return pd.concat([table, predicted], axis=1)


def prediction_table(
    estimator: NPTClassifier | NPTRegressor,
    frame: pd.DataFrame,
    levels: Sequence[float] = LEVELS,
    threshold: float | None = None,
) -> pd.DataFrame:
    """A row of predictions for each row, in the same order; several targets are side by side."""
    columns = {}
    for one in predict_targets(estimator, frame, levels, threshold):
        columns[one.target] = rounded(one.predictions)
        prefix = f"{one.target}_" if estimator.multi_output_ or not one.classifies else ""
        columns |= {f"{prefix}{name}": rounded(one.values[:, place]) for place, name in enumerate(one.names)}
    return pd.DataFrame(columns)


def rounded(values: np.ndarray) -> pd.Series:
    """Numbers with seven digits, the precision of float32."""
    return pd.Series([float(f"{value:.7g}") for value in values] if values.dtype == np.float64 else values)


def sentence(one: TargetPredictions) -> str:
    """The prediction of one target for the first row, with its probability or its interval."""
    prediction, values = one.predictions[0], one.values[0]
    if one.classifies:
        return f"predicted {one.target}: {prediction} (probability {percent_text(values.max())})"
    number, low, high = _significant(prediction, values[0], values[-1])
    return f"predicted {one.target}: {number} (90% interval {low} to {high})"


def short_prediction(one: TargetPredictions) -> str:
    """The prediction of one target for the first row: the class with its probability, or the number."""
    prediction, values = one.predictions[0], one.values[0]
    return (
        f"{prediction} {percent_text(values.max())}"
        if one.classifies
        else _significant(prediction, values[0], values[-1])[0]
    )


def _significant(prediction: float, low: float, high: float) -> list[str]:
    """The three numbers with digits down to thousandths of the interval; more would be meaningless."""
    width = high - low
    if not 0 < width < math.inf:
        return [plain_number(each, 6) for each in (prediction, low, high)]
    places = max(0, math.ceil(-math.log10(width / 1000)))
    if places > 12:
        return [plain_number(each, 7) for each in (prediction, low, high)]
    return [f"{each:,.{places}f}" for each in (prediction, low, high)]
