"""Numbers and dates beyond the range of the training rows: predictions soon stop following a trend there.

Rows of a few training rows lie outside by chance. If all rows come from one distribution, the k largest of n training
and m new rows are all new with a probability that follows from counting; a line is worth it if that is small.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from regard.tables.encode.cells import CellError
from regard.tables.encode.column import Column
from regard.tables.encode.frames import as_frame

MIN_SHARE = 0.05  # of the filled cells
CHANCE = 1e-4

Estimator = Any


def beyond_range(estimator: Estimator, frame: pd.DataFrame) -> Iterator[str]:
    """One line for each column with many cells outside the training range."""
    known = estimator.tables_[0].values.numpy()
    matched = estimator.columns_.match(as_frame(frame))
    for (column, cells), places in zip(matched, estimator.columns_.positions(), strict=True):
        if column.kind in ("number", "date") and column.filled:
            try:
                values = np.asarray(next(iter(column.encode(cells).values())), dtype=np.float32)
            except CellError:  # the prediction names the wrong cells of all columns
                continue
            yield from _outside(column, known[:, places], values[~np.isnan(values)])


def _outside(column: Column, known: np.ndarray, new: np.ndarray) -> Iterator[str]:
    known = known[~np.isnan(known[:, 0])]
    if not len(known):
        return
    for above in (True, False):
        row = known[:, 0].argmax() if above else known[:, 0].argmin()
        end = known[row, 0]
        count = int((new > end).sum() if above else (new < end).sum())
        if count <= MIN_SHARE * len(new) or _by_chance(count, len(new), len(known)) > CHANCE:
            continue
        (limit,) = column.decode(known[[row]])
        share = f"{column.name!r}: {count / len(new):.0%} of the rows lie"
        if column.kind == "date":
            form = "%Y-%m-%d %H:%M" if column.has_time else "%Y-%m-%d"
            place, which = "after" if above else "before", f"the {'last' if above else 'first'} training date"
            yield f"{share} {place} {limit:{form}}, {which}: a trend is hardly continued"
        else:
            place, which = "above" if above else "below", f"the {'largest' if above else 'smallest'} training value"
            yield f"{share} {place} {limit:g}, {which}: a trend is hardly continued"


def _by_chance(count: int, new: int, known: int) -> float:
    """The probability that the `count` largest of all rows are new ones, if new and known rows are alike."""
    return math.exp(sum(math.log((new - place) / (new + known - place)) for place in range(min(count, 1000))))
