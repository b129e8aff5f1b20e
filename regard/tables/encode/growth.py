"""Columns that grow: rows are added after the fit, and every number that was learned from keeps its meaning.

New categories get the codes after the last one, new texts a rank between their neighbours. Text keeps the scores that
its words had in the fit: an added row has had no part in them, just as no row that is predicted later.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd
from jaxtyping import Float

from regard.tables.encode.cells import as_label, read_codes
from regard.tables.encode.column import Column, some_of
from regard.tables.encode.columns import Columns
from regard.tables.encode.frames import as_frame
from regard.tables.encode.text import add_texts, as_texts
from regard.tables.plain_numbers import number_range


def extend_columns(columns: Columns, frame: pd.DataFrame, estimator: str = "NPT") -> Columns:
    """The columns with the categories and texts of another table; `estimator` expects them, as errors say."""
    matched = columns.match(as_frame(frame), estimator)
    return replace(columns, columns=tuple(_extend(column, cells.dropna()) for column, cells in matched))


def _extend(column: Column, filled: pd.Series) -> Column:
    if not column.filled:
        return column
    if column.kind == "category":
        unseen = filled[read_codes(filled, column.categories) == len(column.categories)]
        new = sorted({as_label(value) for value in unseen}, key=lambda value: (isinstance(value, str), value))
        return replace(column, categories=(*column.categories, *new)) if new else column
    if column.kind == "text":
        texts, ranks = add_texts(as_texts(filled), column.categories, column.repeats, column.ranks)  # type: ignore[arg-type]
        return replace(column, categories=texts, ranks=ranks) if len(texts) > len(column.categories) else column
    return column


def describe_again(columns: Columns, values: Float[np.ndarray, "row cell"]) -> Columns:
    """The columns with the range and the filled fraction of all rows, encoded by them."""
    parts = zip(columns.columns, columns.positions(), strict=True)
    return replace(columns, columns=tuple(_describe(column, values[:, places]) for column, places in parts))


def _describe(column: Column, cells: Float[np.ndarray, "row part"]) -> Column:
    known = cells[~np.isnan(cells[:, 0])]
    if not column.filled or not len(known):
        return column
    if column.kind in ("category", "text"):
        summary = some_of(column.categories)
    else:
        low, high = column.decode(known[[known[:, 0].argmin(), known[:, 0].argmax()]])
        form = "%Y-%m-%d %H:%M" if column.has_time else "%Y-%m-%d"
        summary = f"{low:{form}} to {high:{form}}" if column.kind == "date" else number_range(low, high)
    return replace(column, filled=len(known) / len(cells), summary=summary)


def new_categories(before: Columns, after: Columns) -> Iterator[tuple[str, tuple[object, ...]]]:
    """The categories that each column has gained; columns without any are left out."""
    for old, new in zip(before.columns, after.columns, strict=True):
        if new.kind == "category" and len(new.categories) > len(old.categories):
            yield new.name, new.categories[len(old.categories) :]
