"""Predictions as a table: what is predicted, then how likely or within which bounds."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from regard.tables.estimator import NPTClassifier, NPTRegressor

LEVELS = (0.05, 0.5, 0.95)


def predictions(
    estimator: NPTClassifier | NPTRegressor, frame: pd.DataFrame, levels: Sequence[float] = LEVELS
) -> pd.DataFrame:
    """A row for each row, in the same order; several targets stand beside each other."""
    if isinstance(estimator, NPTClassifier):
        chances = estimator.predict_proba(frame)
        parts = zip(estimator.classes_, chances, strict=True) if estimator.many_ else [(estimator.classes_, chances)]
        told = [(labels[own.argmax(1)], [f"p_{label}" for label in labels], own) for labels, own in parts]
    else:
        means, bounds = estimator.predict(frame), estimator.predict(frame, quantiles=levels)
        names = [f"q{100 * level:g}" for level in levels]
        if not estimator.many_:
            means, bounds = means[:, None], bounds[:, None]
        told = [(means[:, place], names, bounds[:, place]) for place in range(means.shape[1])]
    columns = {}
    for number, (answers, names, values) in enumerate(told):
        target = estimator.target_names_[number] or f"target{number if estimator.many_ else ''}"
        columns[target] = _short(answers)
        before = f"{target}_" if estimator.many_ or isinstance(estimator, NPTRegressor) else ""
        columns |= {f"{before}{name}": _short(values[:, place]) for place, name in enumerate(names)}
    return pd.DataFrame(columns)


def _short(values: np.ndarray) -> pd.Series:
    """Numbers with the seven digits that 32 bits hold."""
    return pd.Series([float(f"{value:.7g}") for value in values] if values.dtype == np.float64 else values)


def in_words(estimator: NPTClassifier | NPTRegressor, row: pd.DataFrame) -> str:
    """The prediction for one row, and how sure it is."""
    found = predictions(estimator, row)
    name, answer = found.columns[0], found.iloc[0, 0]
    if isinstance(estimator, NPTClassifier):
        return f"{name} is {answer} with a probability of {found.iloc[0, 1:].max():.0%}"
    low, high = found.iloc[0, 1], found.iloc[0, -1]
    return f"{name} is {answer:g}, in nine cases of ten between {low:g} and {high:g}"
