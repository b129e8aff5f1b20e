"""Fitting a problem: a score on held-out rows, then an estimator of all rows."""

import logging
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

from regard.tables.cautions import cautions
from regard.tables.estimators.classifier import NPTClassifier
from regard.tables.estimators.regressor import NPTRegressor
from regard.tables.fit_settings import FitSettings
from regard.tables.leaks import HeldOut
from regard.tables.problem import Problem
from regard.tables.progress import report, within
from regard.tables.proposals import check_cost, propose_thresholds
from regard.tables.scores import score, trivial_scores
from regard.tables.several_targets import join_targets, single_target
from regard.tables.splits import Split, check_split, sample, split_rows

MIN_ROWS_TO_SCORE = 20  # with fewer, a score would be noise
SCORE_TIME = 0.3  # fraction of the time limit
MAX_ROWS_OF_CAUTIONS = 2000  # held-out rows: they are predicted once more

logger = logging.getLogger(__name__)


def fit_problem(problem: Problem, settings: FitSettings) -> tuple[NPTClassifier | NPTRegressor, dict[str, float]]:
    """An estimator of all rows, and the scores of one fitted without the held-out rows."""
    return fit_problems([problem], settings)


def fit_problems(
    problems: Sequence[Problem], settings: FitSettings
) -> tuple[NPTClassifier | NPTRegressor, dict[str, float]]:
    """The same for several targets of the same rows; their scores are prefixed by name."""
    began = time.monotonic()
    problem = problems[0]
    check_settings(problem, settings)
    split = split_rows(problem, settings) if len(problem.target) >= MIN_ROWS_TO_SCORE else None
    if settings.group is not None:
        problem = problem.without(settings.group)
    settings = replace(settings, kinds=settings.feature_kinds(*problems))
    problems = [replace(one, features=problem.features, ignored=problem.ignored) for one in problems]
    with within("held-out score"):
        scores = {} if split is None else _held_out_scores(problems, settings, split)
    left = settings.time_limit - (time.monotonic() - began)
    logger.info("fitting all %s rows (%s)", f"{len(problem.target):,}", settings.mode)
    estimator = replace(settings, time_limit=max(left, 0.01 * settings.time_limit)).estimator_with_keys(problem)
    with warnings.catch_warnings(record=True) as caught, within("all rows"):
        warnings.simplefilter("always", ConvergenceWarning)
        estimator.fit(pd.concat([problem.ignored, problem.features], axis=1), join_targets(problems))
    for warning in caught:
        logger.warning("note: %s", warning.message)
    estimator.set_params(time_limit=settings.time_limit)
    estimator.rows_ = estimator.rows_.new_tensor(problem.rows)[estimator.rows_]  # as counted in the file
    return estimator, scores


def check_settings(problem: Problem, settings: FitSettings) -> None:
    """Refuse settings that the table rules out."""
    check_split(problem, settings)
    check_cost(problem, settings.cost)


def _held_out_scores(problems: Sequence[Problem], settings: FitSettings, split: Split) -> dict[str, float]:
    train, held_out = split.train, split.held_out
    logger.info("fitting %s rows, to score on %s held-out rows%s", f"{len(train):,}", f"{len(held_out):,}", split.how)
    brief = replace(settings, time_limit=SCORE_TIME * settings.time_limit)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the final fit warns again
        features, target = problems[0].features.iloc[train], join_targets(problems).iloc[train]
        estimator = brief.estimator(problems[0]).fit(features, target)
    report("scoring on held-out rows")
    if len(problems) == 1:
        return _check_target(problems[0], settings, split, estimator)
    by_target = {
        problem.target.name: _check_target(
            problem, settings, split, single_target(estimator, number), f"{problem.target.name!r}: "
        )
        for number, problem in enumerate(problems)
    }
    return {f"{name}.{metric}": value for name, scores in by_target.items() for metric, value in scores.items()}


def _check_target(
    problem: Problem, settings: FitSettings, split: Split, estimator: NPTClassifier | NPTRegressor, about: str = ""
) -> dict[str, float]:
    """The scores of one target, and notes on what they may hide."""
    train, held_out = split.train, split.held_out
    scores = score(estimator, problem.features.iloc[held_out], problem.target.iloc[held_out])
    if not _beats_baseline(scores, problem, train, held_out):
        baseline = "the class frequencies" if problem.classifies else "the mean"
        option = "--mode auto" if settings.mode == "in_context" else "--time-limit"  # in context nothing is trained
        logger.warning(
            "note: %sheld-out rows are predicted no better than by %s; try more rows or %s", about, baseline, option
        )
    some = sample(held_out, MAX_ROWS_OF_CAUTIONS)
    result = HeldOut(estimator, problem.features.iloc[some], problem.target.iloc[some], scores)
    report("checking the score")
    for line in cautions(problem, settings, split, result):
        logger.warning("note: %s%s", about, line)
    lines, thresholds = propose_thresholds(result, settings.cost)
    for line in lines:
        logger.warning("note: %s%s", about, line)
    return scores | trivial_scores(estimator, problem.target.iloc[held_out]) | thresholds


def _beats_baseline(scores: Mapping[str, float], problem: Problem, train: np.ndarray, held_out: np.ndarray) -> bool:
    """Whether held-out rows are predicted better than by a constant."""
    if not problem.classifies:
        return scores.get("r2", 1.0) > 0
    frequency = problem.target.iloc[train].value_counts(normalize=True)
    baseline = -np.log(problem.target.iloc[held_out].map(frequency).dropna()).mean()
    return bool(scores.get("log_loss", 0.0) < baseline)
