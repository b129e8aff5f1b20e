"""Which rows are held out for a score: some at random, the last ones in time, or whole groups."""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit, StratifiedShuffleSplit

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
        return _split_by_group(problem, settings.group, settings.seed)
    return _split_at_random(problem, settings.seed)


def _split_at_random(problem: Problem, seed: int) -> Split:
    """Stratified if possible."""
    counts, size = problem.target.value_counts(), int(HELD_OUT * len(problem.target))
    stratify = problem.classifies and counts.min() >= 2 and size >= len(counts)
    kind = StratifiedShuffleSplit if stratify else ShuffleSplit
    return Split(*next(kind(1, test_size=size, random_state=seed).split(problem.features, problem.target)))


def split_by_time(problem: Problem, column: str) -> Split:
    """The last fifth of the rows is held out; rows of the same time stay together, and those without one are not."""
    times = seconds(problem.features[column])
    known = np.sort(times[~np.isnan(times)])
    if len(np.unique(known)) < 2:
        raise ConfigError(f"--time {column}: holds only one time, so no rows are later than others")
    first = known[math.floor((1 - HELD_OUT) * len(known))]
    first = first if (times < first).any() else np.unique(known)[1]
    later = times >= first  # not where the time is missing
    return Split(np.flatnonzero(~later), np.flatnonzero(later), f", the last ones by {column!r}")


def _split_by_group(problem: Problem, column: str, seed: int) -> Split:
    groups = pd.factorize(problem.features[column], use_na_sentinel=False)[0]
    if groups.max() < 1:
        raise ConfigError(f"--group {column}: all rows belong to one group, so none can be held out")
    train, held_out = next(GroupShuffleSplit(1, test_size=HELD_OUT, random_state=seed).split(groups, groups=groups))
    return Split(train, held_out, f", whole groups of {column!r}")


def sample(rows: np.ndarray, most: int) -> np.ndarray:
    """As many of the rows as allowed, drawn at random; ascending."""
    if len(rows) <= most:
        return rows
    return np.sort(np.random.default_rng(0).choice(rows, most, replace=False))


def seconds(cells: pd.Series) -> np.ndarray:
    """Dates or numbers as numbers that grow with time; NaN where missing."""
    times = read_times(cells)
    if pd.api.types.is_datetime64_any_dtype(times.dtype):
        times = (times - times.min()) / pd.Timedelta(seconds=1)
    return times.to_numpy(dtype=np.float64)
