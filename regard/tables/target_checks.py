"""Target checks: classes that may be one, or have a single row, and numbers that cannot be meant."""

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from regard.tables.encode.column import shorten
from regard.tables.plain_numbers import plain_number
from regard.tables.problem import Problem

SHOWN = 3  # classes
FAR = 1000  # times the distance of the quartiles: no distribution that is measured has such tails
FEW = 0.01  # of the numbers: more of them are a distribution of its own


def check_target(problem: Problem) -> Iterator[str]:
    """Remarks on the target, one line each."""
    yield from _check_classes(problem) if problem.classifies else _check_numbers(problem)


def _check_classes(problem: Problem) -> Iterator[str]:
    name, counts = problem.target.name, problem.target.value_counts()
    alike = defaultdict(list)
    for label in sorted(map(str, counts.index)):
        alike[" ".join(label.casefold().split())].append(label)
    for labels in alike.values():
        if len(labels) > 1:
            shown = " and ".join(map(repr, labels))
            yield f"{name!r}: {shown} are {len(labels)} classes; write them alike if they are meant to be one"
    single = [shorten(str(label)) for label in counts.index[counts == 1]]
    if single:
        shown = ", ".join(map(repr, single[:SHOWN])) + (", …" if len(single) > SHOWN else "")
        have = "has a single row, which" if len(single) == 1 else f"({len(single):,} classes) have a single row, which"
        yield f"{name!r}: {shown} {have} cannot be both learned and scored; collect more, or join classes"


def _check_numbers(problem: Problem) -> Iterator[str]:
    numbers = problem.target.to_numpy(dtype=float)
    low, high = np.quantile(numbers, [0.25, 0.75])
    far = np.flatnonzero((numbers < low - FAR * (high - low)) | (numbers > high + FAR * (high - low)))
    if not high > low or not 0 < len(far) <= max(1, FEW * len(numbers)):
        return
    row, more = problem.rows[far[0]], f", and {len(far) - 1:,} more like it" if len(far) > 1 else ""
    yield (
        f"{problem.target.name!r}: row {row} (counted from 0) holds {plain_number(numbers[far[0]])}{more}, where half "
        f"of the numbers lie between {plain_number(low)} and {plain_number(high)}; a single such error spoils a model"
    )
