"""Which rows are held out for a score: some at random, the last ones in time, or whole groups."""

import math
import warnings
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd
from sklearn.model_selection import (
    GroupShuffleSplit,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedShuffleSplit,
)

from regard.core.errors import ConfigError
from regard.tables.encode.columns import nearest
from regard.tables.encode.times import read_times
from regard.tables.fit_settings import FitSettings
from regard.tables.problem import Problem

HELD_OUT = 0.2


@dataclass(frozen=True)
class Split:
    train: np.ndarray
    held_out: np.ndarray
    how: str = ""  # if not at random
    groups: np.ndarray | None = None  # the number of the group of each row of the table, if whole ones are held out


def check_split(problem: Problem, settings: FitSettings) -> None:
    """Refuse columns that the table does not have, and times that are none."""
    for option, column in (("--time", settings.time), ("--group", settings.group)):
        if column is not None and column not in problem.features:
            known = nearest(column, list(problem.features))
            raise ConfigError(f"the table has no column {column!r} ({option}); {known}")
    if settings.time is not None:
        read_times(problem.features[settings.time])


def split_rows(problem: Problem, settings: FitSettings) -> Split:
    """The split that the settings ask for."""
    check_split(problem, settings)
    if settings.time is not None:
        return split_by_time(problem, settings.time)
    if settings.group is not None:
        return split_by_group(problem.features[settings.group], settings.seed)
    return _split_at_random(problem, settings.seed)


def _split_at_random(problem: Problem, seed: int) -> Split:
    """Stratified if possible."""
    counts, size = problem.target.value_counts(), int(HELD_OUT * len(problem.target))
    stratify = problem.classifies and counts.min() >= 2 and size >= len(counts)
    kind = StratifiedShuffleSplit if stratify else ShuffleSplit
    return Split(*next(kind(1, test_size=size, random_state=seed).split(problem.features, problem.target)))


def split_by_time(problem: Problem, column: str) -> Split:
    """The last fifth of the rows is held out; rows of the same time stay together, and those without one are not."""
    return later_rows(times_in_seconds(problem.features[column]), column)


def later_rows(times: np.ndarray, column: str) -> Split:
    known = np.sort(times[~np.isnan(times)])
    if len(np.unique(known)) < 2:
        raise ConfigError(f"--time {column}: holds only one time, so no rows are later than others")
    first = known[math.floor((1 - HELD_OUT) * len(known))]
    first = first if (times < first).any() else np.unique(known)[1]
    later = times >= first  # not where the time is missing
    return Split(np.flatnonzero(~later), np.flatnonzero(later), f", the last ones by {column!r}")


def split_by_group(cells: pd.Series, seed: int) -> Split:
    """Whole groups of equal cells are held out, a fifth of them."""
    groups = pd.factorize(cells, use_na_sentinel=False)[0]
    if groups.max() < 1:
        raise ConfigError(f"--group {cells.name}: all rows belong to one group, so none can be held out")
    train, held_out = next(GroupShuffleSplit(1, test_size=HELD_OUT, random_state=seed).split(groups, groups=groups))
    return Split(train, held_out, f", whole groups of {cells.name!r}", groups)


Folds = list[tuple[np.ndarray, np.ndarray]]


def group_folds(classes: np.ndarray, cells: pd.Series, folds: int, seed: int) -> Folds:
    """Cross-validation in which rows of equal cells stay together; of few groups, as many folds as groups."""
    groups = pd.factorize(cells, use_na_sentinel=False)[0]
    count = min(folds, int(groups.max()) + 1)
    if count < 2:
        raise ConfigError(f"--group {cells.name}: all rows belong to one group, so none can be held out")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of classes with few rows
        return list(StratifiedGroupKFold(count, shuffle=True, random_state=seed).split(groups, classes, groups))


def time_folds(times: np.ndarray, column: str, folds: int) -> Folds:
    """Rows in as many parts of the second half of the time, each predicted from all rows before it."""
    known = np.sort(times[~np.isnan(times)])
    starts = np.unique(known[np.linspace(len(known) // 2, len(known), folds, endpoint=False).astype(int)])
    starts = starts[starts > known[0]]
    if not len(starts):
        raise ConfigError(f"--time {column}: holds too few times, so no rows are later than others")
    parts = pairwise([*starts, np.inf])
    return [
        (np.flatnonzero(np.isnan(times) | (times < start)), np.flatnonzero((times >= start) & (times < end)))
        for start, end in parts
    ]


def sample(rows: np.ndarray, most: int) -> np.ndarray:
    """As many of the rows as allowed, drawn at random; ascending."""
    if len(rows) <= most:
        return rows
    return np.sort(np.random.default_rng(0).choice(rows, most, replace=False))


def times_in_seconds(cells: pd.Series) -> np.ndarray:
    """Dates or numbers as numbers that grow with time; NaN where missing."""
    times = read_times(cells)
    if pd.api.types.is_datetime64_any_dtype(times.dtype):
        times = (times - times.min()) / pd.Timedelta(seconds=1)
    return times.to_numpy(dtype=np.float64)
