"""Predictions as a table: what is predicted, then how likely or within which bounds."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from regard.core.errors import ConfigError, did_you_mean
from regard.tables.estimator import NPTClassifier, NPTRegressor
from regard.tables.modes import check_levels, quantiles_of

LEVELS = (0.05, 0.5, 0.95)


@dataclass(frozen=True)
class Told:
    """What is predicted of one target."""

    target: str
    answers: np.ndarray  # of each row
    names: list[str]  # of classes, or of quantiles
    values: np.ndarray  # of each row and name
    classifies: bool


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
        check_levels(levels)
        names = [f"q{100 * level:g}" for level in levels]
        found = [  # one answer holds the mean and the quantiles
            (own[:, 0].double().numpy(), names, quantiles_of(own, levels).double().numpy())
            for own in estimator._answers(frame)
        ]
    classifies = isinstance(estimator, NPTClassifier)
    return [Told(target, *own, classifies) for target, own in zip(targets, found, strict=True)]


def check_kept(names: Sequence[str], table: Sequence[str]) -> None:
    """Refuse columns to stand before the predictions that are not there."""
    for name in names:
        if name not in table:
            raise ConfigError(f"--keep {name}: the table has no such column; {did_you_mean(name, table)}")


def beside(kept: pd.DataFrame, predicted: pd.DataFrame) -> pd.DataFrame:
    """Both; where a column of each has one name, as the target has, that of the table is marked."""
    kept = kept.rename(columns={name: f"{name} (in the table)" for name in kept if name in predicted})
    return pd.concat([kept, predicted], axis=1)


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


def in_words(told: Told) -> str:
    """The prediction of one target for the first row, and how sure it is."""
    answer, values = told.answers[0], told.values[0]
    if told.classifies:
        return f"{told.target} is {answer} with a probability of {values.max():.0%}"
    number, low, high = _as_sure_as_it_is(answer, values[0], values[-1])
    return f"{told.target} is {number}, in nine cases of ten between {low} and {high}"


def _as_sure_as_it_is(answer: float, low: float, high: float) -> list[str]:
    """The three with as many digits as tell thousandths of the range apart: more would claim what nobody knows."""
    width = high - low
    if not 0 < width < math.inf:
        return [f"{each:g}" for each in (answer, low, high)]
    places = max(0, math.ceil(-math.log10(width / 1000)))
    if places > 12:
        return [f"{each:.7g}" for each in (answer, low, high)]
    return [f"{each:.{places}f}" for each in (answer, low, high)]
