"""Predictions as a table: what is predicted, then how likely or within which bounds."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from regard.tables.estimator import NPTClassifier, NPTRegressor

LEVELS = (0.05, 0.5, 0.95)


@dataclass(frozen=True)
class Told:
    """What is predicted of one target."""

    target: str
    answers: np.ndarray  # of each row
    names: list[str]  # of classes, or of quantiles
    values: np.ndarray  # of each row and name


def tell(estimator: NPTClassifier | NPTRegressor, frame: pd.DataFrame, levels: Sequence[float] = LEVELS) -> list[Told]:
    """What is predicted of each target."""
    targets = [
        name or f"target{number if estimator.many_ else ''}" for number, name in enumerate(estimator.target_names_)
    ]
    if isinstance(estimator, NPTClassifier):
        chances = estimator.predict_proba(frame)
        parts = zip(estimator.classes_, chances, strict=True) if estimator.many_ else [(estimator.classes_, chances)]
        found = [(labels[own.argmax(1)], [f"p_{label}" for label in labels], own) for labels, own in parts]
    else:
        means, bounds = estimator.predict(frame), estimator.predict(frame, quantiles=levels)
        names = [f"q{100 * level:g}" for level in levels]
        if not estimator.many_:
            means, bounds = means[:, None], bounds[:, None]
        found = [(means[:, place], names, bounds[:, place]) for place in range(means.shape[1])]
    return [Told(target, *own) for target, own in zip(targets, found, strict=True)]


def predictions(
    estimator: NPTClassifier | NPTRegressor, frame: pd.DataFrame, levels: Sequence[float] = LEVELS
) -> pd.DataFrame:
    """A row for each row, in the same order; several targets stand beside each other."""
    columns = {}
    for told in tell(estimator, frame, levels):
        columns[told.target] = _short(told.answers)
        before = f"{told.target}_" if estimator.many_ or isinstance(estimator, NPTRegressor) else ""
        columns |= {f"{before}{name}": _short(told.values[:, place]) for place, name in enumerate(told.names)}
    return pd.DataFrame(columns)


def _short(values: np.ndarray) -> pd.Series:
    """Numbers with the seven digits that 32 bits hold."""
    return pd.Series([float(f"{value:.7g}") for value in values] if values.dtype == np.float64 else values)


def in_words(estimator: NPTClassifier | NPTRegressor, row: pd.DataFrame, number: int = 0) -> str:
    """The prediction of one target for one row, and how sure it is."""
    told = tell(estimator, row)[number]
    answer, values = told.answers[0], told.values[0]
    if isinstance(estimator, NPTClassifier):
        return f"{told.target} is {answer} with a probability of {values.max():.0%}"
    return f"{told.target} is {answer:g}, in nine cases of ten between {values[0]:g} and {values[-1]:g}"
