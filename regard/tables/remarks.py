"""Remarks on a column that is kept but may not be meant: names of rows, constants, emptiness, what was never seen."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from regard.data.tables.types import like_dates
from regard.tables.cells import read_codes, read_numbers
from regard.tables.column import Column

ROWS = 50  # in fewer rows anything may be distinct
NEARLY_ALL = 0.9
MOST = 0.8
USUAL = 0.2  # a chance that surprises nobody
FEWEST_NUMBERS = 10  # different ones: fewer may be codes among others


def remarks_on(column: Column, cells: pd.Series) -> Iterator[str]:
    filled = cells.dropna()
    if not column.filled:
        yield f"{column.name!r}: held nothing in training, and is not looked at"
    elif filled.empty:
        yield f"{column.name!r}: is empty"
    elif column.kind == "category":
        yield from _on_categories(column, filled)
    elif column.kind == "number":
        yield from _on_numbers(column, filled)
    elif filled.nunique() == 1:
        yield _constant(column, filled)


def surprises_in(column: Column, cells: pd.Series) -> Iterator[str]:
    """Only what is otherwise than it was when the column was learned."""
    filled = cells.dropna()
    if not column.filled:
        return
    if filled.empty and (1 - column.filled) ** len(cells) < USUAL:  # a gap or two is nothing new where there were many
        yield f"{column.name!r}: is empty"
    elif column.kind == "category":
        yield from _unseen(column, filled)


def _unseen(column: Column, filled: pd.Series) -> Iterator[str]:
    codes = read_codes(filled, column.categories)
    new = filled[codes == len(column.categories)].map(str).unique()
    if len(new):
        shown = ", ".join(repr(value[:30]) for value in new[:3]) + (", …" if len(new) > 3 else "")
        count = int((codes == len(column.categories)).sum())
        yield f"{column.name!r}: {count:,} of {len(filled):,} cells hold what training never saw: {shown}"


def _on_categories(column: Column, filled: pd.Series) -> Iterator[str]:
    yield from _unseen(column, filled)
    texts = filled.map(str)
    distinct = texts.unique().tolist()
    if len(distinct) == 1:
        yield _constant(column, filled)
    elif told := _nearly(texts):
        yield f"{column.name!r}: {told}"
    elif len(filled) > ROWS and len(distinct) > NEARLY_ALL * len(filled):
        told = f"{len(distinct):,} of {len(filled):,} values are distinct"
        yield f"{column.name!r}: {told}, as of an identifier; leave it out (--ignore) unless it means something"
    elif twins := _twins(distinct):
        yield f"{column.name!r}: {' and '.join(map(repr, twins))} are read as two categories"


def _nearly(texts: pd.Series) -> str:
    """What most cells are and some are not, so that all of them are text."""
    numbers = pd.to_numeric(texts, errors="coerce").notna()
    if MOST * len(texts) <= numbers.sum() < len(texts) and texts[numbers].nunique() >= FEWEST_NUMBERS:
        others = ", ".join(repr(text[:30]) for text in texts[~numbers].unique()[:3])
        told = f"{numbers.sum():,} of {len(texts):,} cells are numbers, but not {others}"
        return f"{told}: so all are read as text; empty such cells to have numbers"
    if like_dates(texts).mean() >= MOST and texts.str.replace(r"\d", "0", regex=True).nunique() > 1:
        return "its cells look like dates, but not all of one form, and are read as text; write all as 2024-12-31"
    return ""


def _twins(distinct: list[str]) -> list[str]:
    """Two texts that differ in capitals only."""
    seen: dict[str, str] = {}
    for text in sorted(distinct):
        other = seen.setdefault(text.casefold(), text)
        if other != text:
            return [other, text]
    return []


def _on_numbers(column: Column, filled: pd.Series) -> Iterator[str]:
    numbers = read_numbers(filled)
    distinct = len(np.unique(numbers))
    if distinct == 1:
        yield _constant(column, filled)
    elif len(numbers) > ROWS and (np.diff(numbers) == 1).all():
        yield f"{column.name!r}: counts the rows; leave it out (--ignore) unless their order means something"
    elif len(np.unique(numbers.astype(np.float32))) < NEARLY_ALL * distinct:
        yield f"{column.name!r}: its numbers differ beyond the seven digits that are read; subtract what they share"


def _constant(column: Column, filled: pd.Series) -> str:
    return f"{column.name!r}: holds one value only ({str(filled.iloc[0])[:30]})"
