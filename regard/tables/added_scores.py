"""Is it worth adding these rows? Their scores by the model as it is, and with the other new rows added.

The new rows are held out in folds. Both scores are those of the same rows.
"""

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.tables.adding import Addition, extend_predictor
from regard.tables.encode.table import EncodedTable, join
from regard.tables.folds import split_folds
from regard.tables.predictor import Predictor
from regard.tables.scores import class_scores, number_scores
from regard.tables.threads import threads

FOLDS = 3
NORMAL = 1.96  # standard errors
MIN_ROWS = 20  # with fewer, scores would be noise
MAX_ROWS = 1000  # of a fold

Estimator = Any
Scores = dict[str, float]


def added_scores(estimator: Estimator, addition: Addition) -> tuple[Scores, Scores, list[str]]:
    """Scores of the new rows before and after, and what their difference means; of several targets prefixed by name, of
    few rows none."""
    before, after, verdicts = Scores(), Scores(), list[str]()
    if len(addition.tables[0].values) < MIN_ROWS:
        return before, after, verdicts
    with threads(estimator.n_jobs), torch.random.fork_rng(devices=[]):
        for number, new in enumerate(addition.tables):
            prefix = f"{estimator.target_names_[number] or number}." if estimator.multi_output_ else ""
            *pair, verdict = _scores(estimator.predictors_[number], estimator.tables_[number], new, estimator.seed_)
            for scores, one in zip((before, after), pair, strict=True):
                scores.update({f"{prefix}{name}": value for name, value in one.items()})
            verdicts += [f"{prefix.removesuffix('.')}: {verdict}" if prefix else verdict] if verdict else []
    return before, after, verdicts


def _scores(predictor: Predictor, known: EncodedTable, new: EncodedTable, seed: int) -> tuple[Scores, Scores, str]:
    truth, before, after = [], [], []
    for rest, held_out in split_folds(new, FOLDS, seed, MAX_ROWS):
        if not len(held_out.target) or not len(rest.target):  # equal rows are one, and stay in one fold
            continue
        extended = extend_predictor(predictor, join([known, rest]), len(known.target), seed)
        truth.append(held_out.target)
        before.append(predictor.predict(held_out.values))
        after.append(extended.predict(held_out.values))
    if not truth:
        return {}, {}, ""
    right, outputs = torch.cat(truth), [torch.cat(each) for each in (before, after)]
    scores = [_score(right, each, new.classes) for each in outputs]
    losses = [_losses(right, each, new.classes) for each in outputs]
    return scores[0], scores[1], verdict(losses[0] - losses[1])


def verdict(gains: np.ndarray) -> str:
    """Whether the mean of the losses that each row was spared is more than noise."""
    if len(gains) < 2:
        return ""
    mean, error = float(gains.mean()), float(gains.std(ddof=1)) / math.sqrt(len(gains))
    if abs(mean) <= NORMAL * error or mean == 0:
        return f"the difference is within the noise of these {len(gains):,} rows"
    return f"the {'gain' if mean > 0 else 'loss'} is more than the noise of these {len(gains):,} rows"


def _losses(truth: Tensor, predicted: Tensor, classes: int) -> np.ndarray:
    """Of each row: log-loss of classes, squared error of numbers."""
    predicted = predicted.double()
    if classes:
        known = truth < classes
        likelihood = predicted[known].gather(1, truth[known].long()[:, None])[:, 0]
        return np.asarray(-likelihood.clamp(min=1e-6).log())
    return np.asarray((predicted[:, 0] - truth.double()).square())


def _score(truth: Tensor, predicted: Tensor, classes: int) -> Scores:
    if classes:
        return class_scores(truth.long().numpy(), predicted.double().numpy())
    return number_scores(truth.double().numpy(), np.asarray(predicted[:, 0].double()))
