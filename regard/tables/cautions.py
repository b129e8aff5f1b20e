"""Cautions: what makes the score of held-out rows better than predictions of new rows will be."""

import math
import shlex
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace

from regard.tables.fit_settings import FitSettings
from regard.tables.leaks import HeldOut, leaking_columns, repeated_rows
from regard.tables.problem import Problem
from regard.tables.scores import NAMES, score
from regard.tables.splits import Split, sample, split_by_time

REPEATED = 0.05  # fraction of the held-out rows
MEMBERS = 2  # of estimators that are fitted for another score
MAX_TRAIN, MAX_HELD_OUT = 2000, 1000  # rows of these
MIN_TIMES = 20  # distinct dates
LESS = {"auc": 0.03, "r2": 0.1}  # than the score of rows held out at random


def cautions(problem: Problem, settings: FitSettings, split: Split, result: HeldOut) -> Iterator[str]:
    """Repeated rows, columns that give the target away, dates: one line for each, with the score without it."""
    yield from _repetitions(result)
    yield from _leaks(problem, settings, split, result)
    if not split.how:
        yield from _later_rows(problem, settings, split, result)


def _repetitions(result: HeldOut) -> Iterator[str]:
    repeated = repeated_rows(result)
    if repeated.mean() >= REPEATED and not repeated.all():
        others = f"{NAMES[result.metric]} {result.rescored(~repeated).score():.4f}"
        yield f"{repeated.sum():,} of {len(repeated):,} held-out rows repeat training rows; {others} on the others"


def _leaks(problem: Problem, settings: FitSettings, split: Split, result: HeldOut) -> Iterator[str]:
    leaks, name = leaking_columns(result), NAMES[result.metric]
    if not leaks or len(leaks) == problem.features.shape[1]:
        return
    without = _quick_score(problem, settings, split, result.metric, list(leaks))
    columns = " and ".join(f"{column!r} ({name} {value:.4f} alone)" for column, value in leaks.items())
    words = " ".join(f"--ignore {shlex.quote(column)}" for column in leaks)
    them = "it" if len(leaks) == 1 else "them"
    yield (
        f"{columns} may give {problem.target.name!r} away; without {them} {name} {without:.4f}. "
        f"If unknown when predictions are made: {words}"
    )


def _later_rows(problem: Problem, settings: FitSettings, split: Split, result: HeldOut) -> Iterator[str]:
    """Dates let a random split look into the future."""
    dates = [column.name for column in result.estimator.columns_.columns if column.kind == "date"]
    times = {name: problem.features[name].nunique() for name in dates}
    if not times or max(times.values()) < MIN_TIMES:
        return
    column = max(times, key=lambda name: times[name])
    later = _quick_score(problem, settings, split_by_time(problem, column), result.metric)
    at_random = _quick_score(problem, settings, split, result.metric)
    if later < at_random - LESS[result.metric]:
        name = NAMES[result.metric]
        yield (
            f"the last rows by {column!r} are predicted worse ({name} {later:.4f}) than rows held out at random "
            f"({name} {at_random:.4f}). To score predictions of the future: --time {shlex.quote(column)}"
        )


def _quick_score(
    problem: Problem, settings: FitSettings, split: Split, metric: str, without: Sequence[str] = ()
) -> float:
    """The score of the pre-trained network, without some columns; of a large table, with some of its rows."""
    train, held_out = sample(split.train, MAX_TRAIN), sample(split.held_out, MAX_HELD_OUT)
    kinds = {column: kind for column, kind in (settings.kinds or {}).items() if column not in without}
    features = problem.features.drop(columns=list(without))
    estimator = replace(settings, mode="in_context", kinds=kinds).estimator(problem).set_params(members=MEMBERS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator.fit(features.iloc[train], problem.target.iloc[train])
    scores = score(estimator, features.iloc[held_out], problem.target.iloc[held_out])
    return scores.get(metric, math.nan)
