"""Groups: columns whose rows belong together, such as the visits of a customer, and have the same target.

If rows are held out at random, the target of a customer is known from the customer's other rows. The score then says
nothing about customers not seen before. An ordinary category may tell much about the target too, so a column is a
candidate by a cheap statistic, and is named only if rows of held-out groups are clearly predicted worse.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from regard.tables.encode.column import infer_kind
from regard.tables.problem import Problem

MIN_GROUPS = 25  # so that at least five are held out
COVERED = 0.5  # of the rows are in groups of two or more
ALIKE = 0.5  # of the spread of the target is between groups
NEARLY_EQUAL = 0.9  # of it: the target is that of the group, and not only its level
LARGE = 0.1  # of the rows: as many have an ordinary value, such as 0
MAX_MEAN_SIZE = 20  # rows of a group: larger ones are those of an ordinary category, unless their targets are equal
SMOOTH = 0.5  # of the spread between the values of a number is explained by those next to them
UNRELATED = 1.5  # times the spread is what the mean of two unrelated values leaves
MAX_CANDIDATES = 3  # each is scored, which takes seconds


@dataclass(frozen=True)
class Candidate:
    """A column whose groups may have the same target."""

    column: str
    alike: float  # the intraclass correlation of the target
    ignored: bool  # no feature already
    number: bool

    @property
    def nearly_equal(self) -> bool:
        return self.alike >= NEARLY_EQUAL


def candidates(problem: Problem, kinds: Mapping[str, str], but: Iterable[str] = ()) -> list[Candidate]:
    """Columns that may be groups: categories before numbers, those with the most similar targets first.

    `kinds` are those that are set, and `but` columns that are no groups.
    """
    once = _first_of_equal(problem)  # a copy of a row has the same target as the row
    target, result = _spreads(problem)[once], []
    for frame in (problem.features, problem.ignored):
        for name in [column for column in frame if column not in but]:
            cells = frame[name][once]
            kind = kinds.get(name) or infer_kind(cells)
            alike = 0.0 if kind == "date" else _alike(cells, target, kind == "number")
            if alike:
                result.append(Candidate(name, alike, frame is problem.ignored, kind == "number"))
    return sorted(result, key=lambda one: (one.number, -round(one.alike, 2)))[:MAX_CANDIDATES]


def _first_of_equal(problem: Problem) -> np.ndarray:
    """Whether each row is the first one with its cells and its target."""
    cells = pd.concat([column.map(str) for _, column in problem.features.items()], axis=1)
    return ~cells.assign(**{"": problem.target.to_numpy()}).duplicated().to_numpy()


def _spreads(problem: Problem) -> np.ndarray:
    """The target as numbers: an indicator of each class, or ranks, which far numbers do not distort."""
    if problem.classifies:
        return pd.get_dummies(problem.target).to_numpy(dtype=float)
    return problem.target.rank().to_numpy(dtype=float)[:, None]


def _alike(cells: pd.Series, target: np.ndarray, number: bool) -> float:
    """The intraclass correlation of the target in groups of equal cells; 0 if these cannot be groups."""
    filled = cells.notna().to_numpy()
    groups, values = pd.factorize(cells[filled] if number else cells[filled].map(str), sort=number)
    counts, rows = np.bincount(groups, minlength=1), target[filled]
    several = counts[(counts > 1) & (counts <= max(2, LARGE * len(cells)))].sum()
    if len(values) < MIN_GROUPS or several < COVERED * len(cells):
        return 0.0
    means = np.stack([np.bincount(groups, column) / counts for column in rows.T], 1)
    within = float(np.square(rows - means[groups]).sum()) / (len(rows) - len(values))
    total = float(np.square(rows - rows.mean(0)).sum()) / (len(rows) - 1)
    alike = 1 - within / total if total > 0 else 0.0
    least = ALIKE if len(rows) <= MAX_MEAN_SIZE * len(values) else NEARLY_EQUAL
    return 0.0 if alike < least or (number and _smooth(means, counts)) else alike


def _smooth(means: np.ndarray, counts: np.ndarray) -> bool:
    """Whether means are like those of the next smaller and the next larger number: of an identifier they are not."""
    weights, between = counts[1:-1, None], (means[:-2] + means[2:]) / 2
    spread = float((weights * np.square(means[1:-1] - np.average(means, axis=0, weights=counts))).sum())
    left = float((weights * np.square(means[1:-1] - between)).sum())
    return left <= (1 - SMOOTH) * UNRELATED * spread
