"""Fitting a problem: a score on held-out rows, then an estimator of all rows."""

import logging
import math
import shlex
import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

from regard.core.errors import ConfigError
from regard.tables.estimators.base import Mode
from regard.tables.estimators.classifier import NPTClassifier
from regard.tables.estimators.regressor import NPTRegressor
from regard.tables.leaks import REPEATED, HeldOut, leaking_columns, repeated_rows
from regard.tables.problem import Problem
from regard.tables.scores import score

HELD_OUT = 0.2
MIN_ROWS_TO_SCORE = 20  # with fewer, a score would be noise
SCORE_TIME = 0.3  # fraction of the time limit
WITHOUT_MEMBERS = 2  # for the score without columns that may be leaks

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class FitSettings:
    """How an estimator is fitted."""

    mode: Mode = "auto"
    time_limit: float = 60.0
    seed: int = 0
    kinds: dict[str, str] | None = None
    weights: str | None = None

    def __post_init__(self) -> None:
        if not 0 < self.time_limit < math.inf:
            raise ConfigError(f"time_limit: must be more than 0 seconds, not {self.time_limit}")
        if not 0 <= self.seed < 2**32:
            raise ConfigError(f"seed: must be at least 0 and below 2**32, not {self.seed}")

    def estimator(self, problem: Problem) -> NPTClassifier | NPTRegressor:
        kind = NPTClassifier if problem.classifies else NPTRegressor
        kinds = self.feature_kinds(problem) or None
        return kind(
            mode=self.mode, time_limit=self.time_limit, random_state=self.seed, kinds=kinds, weights=self.weights
        )

    def feature_kinds(self, problem: Problem) -> dict[str, str]:
        """`kinds` without that of the target."""
        return {name: kind for name, kind in (self.kinds or {}).items() if name != problem.target.name}


def fit_problem(problem: Problem, settings: FitSettings) -> tuple[NPTClassifier | NPTRegressor, dict[str, float]]:
    """An estimator of all rows, and the scores of one fitted without the held-out rows."""
    began = time.monotonic()
    scores = _held_out_scores(problem, settings) if len(problem.target) >= MIN_ROWS_TO_SCORE else {}
    left = settings.time_limit - (time.monotonic() - began)
    logger.info("fitting all %s rows (%s)", f"{len(problem.target):,}", settings.mode)
    estimator = replace(settings, time_limit=max(left, 0.01 * settings.time_limit)).estimator(problem)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        estimator.fit(problem.features, problem.target)
    for warning in caught:
        logger.warning("note: %s", warning.message)
    estimator.set_params(time_limit=settings.time_limit)
    estimator.rows_ = estimator.rows_.new_tensor(problem.rows)[estimator.rows_]  # as counted in the file
    return estimator, scores


def _held_out_scores(problem: Problem, settings: FitSettings) -> dict[str, float]:
    train, held_out = _split(problem, settings.seed)
    logger.info("fitting %s rows, to score on %s held-out rows", f"{len(train):,}", f"{len(held_out):,}")
    brief = replace(settings, time_limit=SCORE_TIME * settings.time_limit)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the final fit warns again
        estimator = brief.estimator(problem).fit(problem.features.iloc[train], problem.target.iloc[train])
    scores = score(estimator, problem.features.iloc[held_out], problem.target.iloc[held_out])
    if not _beats_baseline(scores, problem, train, held_out):
        baseline = "the class frequencies" if problem.classifies else "the mean"
        logger.warning(
            "note: held-out rows are predicted no better than by %s; try more rows or --time-limit", baseline
        )
    result = HeldOut(estimator, problem.features.iloc[held_out], problem.target.iloc[held_out], scores)
    for line in _leak_notes(problem, result, train, held_out, settings):
        logger.warning("note: %s", line)
    return scores


def _leak_notes(
    problem: Problem, result: HeldOut, train: np.ndarray, held_out: np.ndarray, settings: FitSettings
) -> Iterator[str]:
    """What makes the scores look better than predictions of new rows will be, with the scores without it."""
    name = {"auc": "AUC", "r2": "R²"}[result.metric]
    repeated = repeated_rows(result)
    if repeated.mean() >= REPEATED and not repeated.all():
        others = f"{name} {result.rescored(~repeated).score():.4f}"
        yield f"{repeated.sum():,} of {len(repeated):,} held-out rows repeat training rows; {others} on the others"
    leaks = leaking_columns(result)
    rest = problem.features.drop(columns=list(leaks))
    if not leaks or rest.shape[1] == 0:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kinds = {column: kind for column, kind in (settings.kinds or {}).items() if column not in leaks}
        estimator = replace(settings, mode="in_context", kinds=kinds).estimator(problem)
        estimator.set_params(members=WITHOUT_MEMBERS)
        estimator.fit(rest.iloc[train], problem.target.iloc[train])
    without = score(estimator, rest.iloc[held_out], problem.target.iloc[held_out]).get(result.metric, math.nan)
    names = " and ".join(f"{column!r} ({name} {value:.4f} alone)" for column, value in leaks.items())
    words = " ".join(f"--ignore {shlex.quote(column)}" for column in leaks)
    them = "it" if len(leaks) == 1 else "them"
    yield (
        f"{names} may give {problem.target.name!r} away; without {them} {name} {without:.4f}. "
        f"If unknown when predictions are made: {words}"
    )


def _split(problem: Problem, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Training and held-out rows, stratified if possible."""
    counts, size = problem.target.value_counts(), int(HELD_OUT * len(problem.target))
    stratify = problem.classifies and counts.min() >= 2 and size >= len(counts)
    kind = StratifiedShuffleSplit if stratify else ShuffleSplit
    return next(kind(1, test_size=size, random_state=seed).split(problem.features, problem.target))


def _beats_baseline(scores: Mapping[str, float], problem: Problem, train: np.ndarray, held_out: np.ndarray) -> bool:
    """Whether held-out rows are predicted better than by a constant."""
    if not problem.classifies:
        return scores.get("r2", 1.0) > 0
    frequency = problem.target.iloc[train].value_counts(normalize=True)
    baseline = -np.log(problem.target.iloc[held_out].map(frequency).dropna()).mean()
    return bool(scores.get("log_loss", 0.0) < baseline)
