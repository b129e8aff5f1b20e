"""Is it worth adding these rows? Their scores by the model as it is, and with the other new rows added.

The new rows are held out in folds. Both scores are those of the same rows.
"""

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
MIN_ROWS = 20  # with fewer, scores would be noise
MAX_ROWS = 1000  # of a fold

Estimator = Any
Scores = dict[str, float]


def added_scores(estimator: Estimator, addition: Addition) -> tuple[Scores, Scores]:
    """Scores of the new rows before and after; of several targets prefixed by name, of few rows none."""
    before, after = Scores(), Scores()
    if len(addition.tables[0].values) < MIN_ROWS:
        return before, after
    with threads(estimator.n_jobs), torch.random.fork_rng(devices=[]):
        for number, new in enumerate(addition.tables):
            prefix = f"{estimator.target_names_[number] or number}." if estimator.multi_output_ else ""
            pair = _scores(estimator.predictors_[number], estimator.tables_[number], new, estimator.seed_)
            for scores, one in zip((before, after), pair, strict=True):
                scores.update({f"{prefix}{name}": value for name, value in one.items()})
    return before, after


def _scores(predictor: Predictor, known: EncodedTable, new: EncodedTable, seed: int) -> tuple[Scores, Scores]:
    truth, before, after = [], [], []
    for rest, held_out in split_folds(new, FOLDS, seed, MAX_ROWS):
        if not len(held_out.target) or not len(rest.target):  # equal rows are one, and stay in one fold
            continue
        extended = extend_predictor(predictor, join([known, rest]), len(known.target), seed)
        truth.append(held_out.target)
        before.append(predictor.predict(held_out.values))
        after.append(extended.predict(held_out.values))
    if not truth:
        return {}, {}
    pair = [_score(torch.cat(truth), torch.cat(each), new.classes) for each in (before, after)]
    return pair[0], pair[1]


def _score(truth: Tensor, predicted: Tensor, classes: int) -> Scores:
    if classes:
        return class_scores(truth.long().numpy(), predicted.double().numpy())
    return number_scores(truth.double().numpy(), np.asarray(predicted[:, 0].double()))
