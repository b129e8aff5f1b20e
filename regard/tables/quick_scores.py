"""Quick scores: of the pre-trained network, with rows held out in another way or without some columns."""

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from regard.tables.encode.cells import read_codes
from regard.tables.fit_settings import FitSettings
from regard.tables.problem import Problem
from regard.tables.scores import class_scores, number_scores
from regard.tables.splits import Split, sample

MEMBERS = 2  # of estimators that are fitted for another score
MAX_TRAIN, MAX_HELD_OUT = 2000, 1000  # rows of these
RESAMPLES = 100


@dataclass(frozen=True)
class QuickScore:
    value: float  # NaN where it is undefined
    error: float  # standard error: a bootstrap over held-out rows, or whole groups of them


def mean_score(scores: Sequence[QuickScore]) -> QuickScore:
    """Of several splits."""
    error = math.sqrt(sum(one.error**2 for one in scores)) / len(scores)
    return QuickScore(sum(one.value for one in scores) / len(scores), error)


def quick_score(
    problem: Problem, settings: FitSettings, split: Split, metric: str, without: Sequence[str] = ()
) -> QuickScore:
    """The score without some columns; of a large table, with some of its rows."""
    train, held_out = sample(split.train, MAX_TRAIN), sample(split.held_out, MAX_HELD_OUT)
    kinds = {column: kind for column, kind in (settings.kinds or {}).items() if column not in without}
    features = problem.features.drop(columns=list(without), errors="ignore")
    estimator = replace(settings, mode="in_context", kinds=kinds).estimator(problem).set_params(members=MEMBERS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator.fit(features.iloc[train], problem.target.iloc[train])
    target, rows = problem.target.iloc[held_out], features.iloc[held_out]
    score: Callable[[np.ndarray, np.ndarray], dict[str, float]]
    if problem.classifies:
        truth = read_codes(target, np.asarray(estimator.classes_).tolist()).astype(int)
        predicted, score = estimator.predict_proba(rows), class_scores
    else:
        truth = target.to_numpy(dtype=float)
        predicted, score = estimator.predict(rows), number_scores
    groups = np.arange(len(held_out)) if split.groups is None else split.groups[held_out]
    drawn = [score(truth[some], predicted[some]).get(metric, math.nan) for some in _draws(groups)]
    return QuickScore(score(truth, predicted).get(metric, math.nan), float(np.nanstd(drawn)))


def _draws(groups: np.ndarray) -> list[np.ndarray]:
    """Rows of groups that are drawn with replacement."""
    rng, members = np.random.default_rng(0), [np.flatnonzero(groups == group) for group in np.unique(groups)]
    return [
        np.concatenate([members[place] for place in rng.integers(len(members), size=len(members))])
        for _ in range(RESAMPLES)
    ]
