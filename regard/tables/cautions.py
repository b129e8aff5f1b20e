"""Cautions: what makes the score of held-out rows better than predictions of new rows will be."""

import math
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from regard.tables.fit_settings import FitSettings
from regard.tables.groups import Candidate, candidates
from regard.tables.leaks import HeldOut, leaking_columns, repeated_rows
from regard.tables.problem import Problem
from regard.tables.quick_scores import QuickScore, mean_score, quick_score
from regard.tables.scores import NAMES
from regard.tables.splits import Split, split_by_group, split_by_time

REPEATED = 0.05  # fraction of the held-out rows
MIN_OTHERS = 30  # rows: with fewer, a second score would be noise
MIN_TIMES = 20  # distinct dates
LESS = {"auc": 0.03, "r2": 0.1}  # than the score of rows held out at random
CONSTANT = {"auc": 0.5, "r2": 0.0}  # the score of a constant
SPLITS = 4  # into known and unseen groups, at most
EQUAL = 0.99  # of the spread of the target is between groups


@dataclass(frozen=True)
class Group:
    """A column whose rows belong together, and the score of groups that were not seen."""

    candidate: Candidate
    split: Split
    score: QuickScore
    at_random: QuickScore

    @property
    def column(self) -> str:
        return self.candidate.column

    def line(self, target: str, metric: str) -> str:
        alike = self.candidate.alike
        same = "the same" if alike >= EQUAL else "nearly the same" if self.candidate.nearly_equal else "a similar"
        instead = " instead of --ignore" if self.candidate.ignored else ""
        return (
            f"rows with the same {self.column!r} have {same} {target!r}; where {self.column!r} was not seen before, "
            f"{NAMES[metric]} is {self.score.value:.4f} instead of {self.at_random.value:.4f}. "
            f"To score such rows: --group {shlex.quote(self.column)}{instead}"
        )


def cautions(problem: Problem, settings: FitSettings, split: Split, result: HeldOut) -> Iterator[str]:
    """Repeated rows, groups, columns that give the target away, dates: one line each, with the score without it."""
    repeated = repeated_rows(result)
    yield from _repetitions(result, repeated)
    if repeated.all():
        return
    if repeated.mean() >= REPEATED and (~repeated).sum() >= MIN_OTHERS:
        result = result.rescored(~repeated)  # any number that is hardly ever equal says which row is repeated
    leaks, group = leaking_columns(result), None
    if not split.how:
        possible = candidates(problem, settings.kinds or {})
        named = {one.column for one in possible}
        group = _group(problem, settings, split, possible, [name for name in leaks if name not in named])
        if group is not None:
            leaks = {name: value for name, value in leaks.items() if name not in named}
            yield group.line(str(problem.target.name), result.metric)
    yield from _leaks(problem, settings, split if group is None else group.split, leaks, group)
    if not split.how:
        yield from _later_rows(problem, settings, split, result)


def _repetitions(result: HeldOut, repeated: np.ndarray) -> Iterator[str]:
    if repeated.mean() < REPEATED:
        return
    if repeated.all():
        yield (
            f"all {len(repeated):,} held-out rows repeat training rows: the score says nothing about new rows; drop "
            "the duplicates first"
        )
        return
    others = result.rescored(~repeated).score() if (~repeated).sum() >= MIN_OTHERS else math.nan
    count = f"{repeated.sum():,} of {len(repeated):,} held-out rows repeat training rows"
    if math.isnan(others):
        yield f"{count}: the score says little about new rows; drop the duplicates first"
    else:
        yield f"{count}; {NAMES[result.metric]} {others:.4f} on the others"


def _group(
    problem: Problem, settings: FitSettings, split: Split, possible: Sequence[Candidate], leaks: Sequence[str]
) -> Group | None:
    """The first candidate whose groups are clearly predicted worse if none of their rows is known.

    Without the columns that give the target away, which would hide it.
    """
    if not possible or len(leaks) == problem.features.shape[1]:
        return None
    metric = "auc" if problem.classifies else "r2"
    at_random = quick_score(problem, settings, split, metric, leaks)
    for one in possible:
        without = [name for name in (*leaks, one.column) if name in problem.features]
        if len(without) == problem.features.shape[1]:
            continue
        score = _unseen(problem, settings, one, without, at_random)
        # A number may also be an ordinary feature, whose unseen values are interpolated between known ones.
        scores = [score, _unseen(problem, settings, one, leaks, at_random)] if score and one.number else [score]
        if score and all(scores):
            return Group(one, _apart(problem, one, settings.seed), score, at_random)
    return None


def _apart(problem: Problem, one: Candidate, seed: int) -> Split:
    return split_by_group((problem.ignored if one.ignored else problem.features)[one.column], seed)


def _unseen(
    problem: Problem, settings: FitSettings, one: Candidate, without: Sequence[str], at_random: QuickScore
) -> QuickScore | None:
    """The score of groups that were not seen, if it is clearly worse; of more splits where one is too noisy to say."""
    metric, scores = "auc" if problem.classifies else "r2", list[QuickScore]()
    for number in range(SPLITS):
        split = _apart(problem, one, settings.seed + number)
        scores.append(quick_score(problem, settings, split, metric, without))
        mean = mean_score(scores)
        if not at_random.value - mean.value > LESS[metric]:
            return None
        if _worse(mean, at_random, one, metric):
            return mean
    return None


def _worse(score: QuickScore, at_random: QuickScore, one: Candidate, metric: str) -> bool:
    """By more than noise; if the targets of a group are only similar, so that little of the score is left."""
    noise = 2 * float(np.hypot(score.error, at_random.error))
    if not at_random.value - score.value > max(LESS[metric], noise):
        return False
    base = CONSTANT[metric]
    return one.nearly_equal or score.value - base < (at_random.value - base) / 2


def _leaks(
    problem: Problem, settings: FitSettings, split: Split, leaks: dict[str, float], group: Group | None
) -> Iterator[str]:
    apart = [] if group is None else [group.column]
    if not leaks or len({*leaks, *apart} & {*problem.features}) == problem.features.shape[1]:
        return
    metric = "auc" if problem.classifies else "r2"
    name, without = NAMES[metric], quick_score(problem, settings, split, metric, [*leaks, *apart]).value
    columns = " and ".join(f"{column!r} ({name} {value:.4f} alone)" for column, value in leaks.items())
    words = " ".join(f"--ignore {shlex.quote(column)}" for column in leaks)
    them = "it" if len(leaks) == 1 else "them"
    where = "" if group is None else f", and where {group.column!r} was not seen before,"
    yield (
        f"{columns} may give {problem.target.name!r} away; without {them}{where} {name} {without:.4f}. "
        f"If unknown when predictions are made: {words}"
    )


def _later_rows(problem: Problem, settings: FitSettings, split: Split, result: HeldOut) -> Iterator[str]:
    """Dates let a random split look into the future."""
    dates = [column.name for column in result.estimator.columns_.columns if column.kind == "date"]
    times = {name: problem.features[name].nunique() for name in dates}
    if not times or max(times.values()) < MIN_TIMES:
        return
    column = max(times, key=lambda name: times[name])
    later = quick_score(problem, settings, split_by_time(problem, column), result.metric).value
    at_random = quick_score(problem, settings, split, result.metric).value
    if later < at_random - LESS[result.metric]:
        name = NAMES[result.metric]
        yield (
            f"the last rows by {column!r} are predicted worse ({name} {later:.4f}) than rows held out at random "
            f"({name} {at_random:.4f}). To score predictions of the future: --time {shlex.quote(column)}"
        )
