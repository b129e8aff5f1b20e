"""Baselines of a report: a constant, a linear model and histogram boosting, fitted to the same rows as the model."""

import logging
import warnings
from collections.abc import Callable

import numpy as np
from jaxtyping import Float
from threadpoolctl import threadpool_limits

from regard.tables.baselines import Baseline, histogram_boosting, linear
from regard.tables.encode.cells import Cells
from regard.tables.report.held_out import Fold, HeldOutRows

MANY_ROWS = 5000
MAX_BOOSTED_CLASSES = 30  # every class has trees of its own
BOOSTING = "histogram boosting"
Predict = Callable[[Fold, np.ndarray, int], np.ndarray]

logger = logging.getLogger(__name__)


def predict_baselines(rows: HeldOutRows) -> dict[str, Float[np.ndarray, "row prediction"] | str]:
    """Class probabilities, or one column of numbers, by name; a model that failed has its error instead."""
    predictions: dict[str, np.ndarray | str] = {constant_name(rows): _constant(rows)}
    models = {"linear": _fitted(linear)}
    if rows.classes <= MAX_BOOSTED_CLASSES:
        models[BOOSTING] = _fitted(histogram_boosting)
    # On a small table, threads would wait for each other longer than they work.
    threads = 1 if len(rows.folds[0].rows) < MANY_ROWS else None
    for name, predict in models.items():
        logger.info("report: %s, for comparison", name)
        try:
            with warnings.catch_warnings(), threadpool_limits(threads, user_api="openmp"):
                warnings.simplefilter("ignore")
                predictions[name] = _predict(rows, predict)
        except Exception as error:  # a failing baseline is a result; the report goes on
            predictions[name] = " ".join(f"{type(error).__name__}: {error}".split())[:120]
    return predictions


def constant_name(rows: HeldOutRows) -> str:
    return "class frequencies" if rows.classes else "mean"


def _predict(rows: HeldOutRows, predict: Predict) -> np.ndarray:
    output = np.zeros((len(rows.truth), max(1, rows.classes)))
    for number, fold in enumerate(rows.folds):
        mine = rows.fold_of == number
        if mine.any():
            output[mine] = predict(fold, rows.values.numpy()[mine], rows.classes)
    return output


def _constant(rows: HeldOutRows) -> np.ndarray:
    """The same prediction for every row: if it differed between folds, it would seem to tell rows apart."""
    targets = [fold.table.target.double().numpy() for fold in rows.folds]
    if rows.classes:
        means = [np.bincount(each.astype(int), minlength=rows.classes) / len(each) for each in targets]
    else:
        means = [np.array([each.mean()]) for each in targets]
    return np.tile(np.mean(means, axis=0), (len(rows.truth), 1))


def _fitted(baseline: Baseline) -> Predict:
    def predict(fold: Fold, values: np.ndarray, classes: int) -> np.ndarray:
        known, category = fold.table.values.numpy(), fold.table.category.numpy()
        filled = ~np.isnan(known).all(0)  # some baselines refuse empty columns
        known, category, values = known[:, filled], category[filled], values[:, filled]
        cells = Cells(known, category, tuple(map(str, range(known.shape[1]))))
        model, target = baseline(cells, classes > 0, 0), fold.table.target.double().numpy()
        if not classes:
            return np.asarray(model.fit(known, target).predict(values), dtype=np.float64)[:, None]
        seen, codes = np.unique(target.astype(int), return_inverse=True)
        output = np.zeros((len(values), classes))
        output[:, seen] = model.fit(known, codes).predict_proba(values)
        return output

    return predict
