"""Scores on held-out rows with confidence intervals: the rows are drawn again with replacement (Efron, 1979).

All models are scored on the same draws, so the interval of a difference is that of paired rows. It says how much the
score depends on which rows were held out, not on which ones the model was fitted to.
"""

from collections.abc import Callable, Mapping

import numpy as np
from jaxtyping import Float, Int

from regard.tables.report.results import Interval, ModelScores
from regard.tables.scores import class_scores, number_scores

RESAMPLES = 500
LEVEL = 0.95
MAX_AUC_CLASSES = 20  # every pair of classes has an area of its own
LARGER_IS_BETTER = ("auc", "accuracy", "r2")
CLASS_METRICS, NUMBER_METRICS = ("auc", "accuracy", "log_loss"), ("rmse", "mae", "r2")

Score = Callable[[np.ndarray, np.ndarray], dict[str, float]]


def metrics_of(truth: np.ndarray, classes: int) -> tuple[str, ...]:
    """The metrics of a target, the main one first."""
    if not classes:
        return NUMBER_METRICS if len(np.unique(truth)) > 1 else NUMBER_METRICS[:2]
    several = len(np.unique(truth[truth < classes])) > 1
    return CLASS_METRICS if several and classes <= MAX_AUC_CLASSES else CLASS_METRICS[1:]


def score_models(
    truth: np.ndarray, predictions: Mapping[str, Float[np.ndarray, "row prediction"] | str], classes: int, seed: int
) -> tuple[ModelScores, ...]:
    """The scores of each model; the first one is compared with the others."""
    metrics = metrics_of(truth, classes)
    draws = np.random.default_rng(seed).integers(len(truth), size=(RESAMPLES, len(truth)))
    results, first = [], None
    for name, predicted in predictions.items():
        if isinstance(predicted, str):
            results.append(ModelScores(name, {}, error=predicted))
            continue
        score = class_scores if classes else number_scores
        output = predicted if classes else predicted[:, 0]
        value, drawn = score(truth, output), _resampled(score, truth, output, draws, metrics)
        scores = {metric: interval(value[metric], drawn[metric]) for metric in metrics}
        lead = None
        if first is None:
            first = value, drawn
        else:
            sign, main = 1 if metrics[0] in LARGER_IS_BETTER else -1, metrics[0]
            lead = interval(sign * (first[0][main] - value[main]), sign * (first[1][main] - drawn[main]))
        results.append(ModelScores(name, scores, lead))
    return tuple(results)


def _resampled(
    score: Score, truth: np.ndarray, output: np.ndarray, draws: Int[np.ndarray, "draw row"], metrics: tuple[str, ...]
) -> dict[str, Float[np.ndarray, " draw"]]:
    """A score may be undefined for some draws, such as those of one class."""
    scores = [score(truth[rows], output[rows]) for rows in draws]
    return {metric: np.array([each.get(metric, np.nan) for each in scores]) for metric in metrics}


def interval(value: float, drawn: Float[np.ndarray, " draw"]) -> Interval:
    """The middle 95 % of what was drawn."""
    if np.isnan(drawn).all():
        return Interval(float(value), float("nan"), float("nan"))
    low, high = np.nanquantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(float(value), float(low), float(high))
