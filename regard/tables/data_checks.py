"""Data checks: columns that may not be intended as features (identifiers, constants, empty), and unseen categories."""

import re
from collections.abc import Iterator

import numpy as np
import pandas as pd
from jaxtyping import Float

from regard.data.tables.types import like_amounts, like_dates
from regard.tables.encode.cells import as_label, read_codes, read_numbers
from regard.tables.encode.column import Column, shorten
from regard.tables.encode.columns import Columns
from regard.tables.encode.frames import as_frame
from regard.tables.plain_numbers import plain_number

MIN_NEW_ROWS = 10  # in fewer an empty column is what the user wants to ask, or chance
MIN_ROWS = 50  # in fewer rows values are distinct by chance
NEARLY_ALL = 0.9
MIN_FRACTION = 0.8
LIKELY = 0.2  # probability of an empty column above which nothing is reported
FEW_SHAPES = 0.1  # of distinct texts that differ in more than digits
MIN_DISTINCT = 10  # numbers: fewer may be codes among other categories


def check_training_data(columns: Columns, frame: pd.DataFrame) -> list[str]:
    """Remarks on the columns of a training table, one line each."""
    return [line for column, cells in columns.match(as_frame(frame)) for line in _check_column(column, cells)]


def check_new_data(columns: Columns, frame: pd.DataFrame) -> list[str]:
    """Differences of this table from the training table, one line each."""
    return [line for column, cells in columns.match(as_frame(frame)) for line in _check_drift(column, cells)]


def identifiers(columns: Columns, values: Float[np.ndarray, "row cell"]) -> list[str]:
    """The features that seem to be identifiers, given the encoded training rows."""
    parts = zip(columns.columns, columns.positions(), strict=True)
    return [column.name for column, places in parts if _is_identifier(column, values[:, places[0]])]


def _is_identifier(column: Column, cells: Float[np.ndarray, " row"]) -> bool:
    filled = cells[~np.isnan(cells)]
    if len(filled) <= MIN_ROWS:
        return False
    if column.kind == "number":
        return bool((np.diff(filled) == 1).all())
    distinct = list(map(str, column.categories))
    return len(distinct) > NEARLY_ALL * len(filled) and like_identifiers(distinct)


def _check_column(column: Column, cells: pd.Series) -> Iterator[str]:
    filled = cells.dropna()
    if not column.filled:
        yield f"{column.name!r} was empty in the training data, and is ignored"
    elif filled.empty:
        yield f"{column.name!r} is empty"
    elif column.kind in ("category", "text"):
        yield from _check_categories(column, filled)
    elif column.kind == "number":
        yield from _check_numbers(column, filled)
    elif filled.nunique() == 1:
        yield _constant(column, filled)


def _check_drift(column: Column, cells: pd.Series) -> Iterator[str]:
    filled = cells.dropna()
    if not column.filled:
        return
    likely = (1 - column.filled) ** len(cells) >= LIKELY  # missing cells are no news in a sparse column
    if filled.empty and len(cells) >= MIN_NEW_ROWS and not likely:
        yield f"{column.name!r} is empty"
    elif column.kind == "category":
        yield from _unseen(column, filled)


def _unseen(column: Column, filled: pd.Series) -> Iterator[str]:
    codes = read_codes(filled, column.categories)
    new = filled[codes == len(column.categories)].map(str).unique()
    if len(new):
        shown = ", ".join(repr(shorten(value)) for value in new[:3]) + (", …" if len(new) > 3 else "")
        count = int((codes == len(column.categories)).sum())
        hold = "holds a category" if count == 1 else "hold categories"
        cells = "cell" if len(filled) == 1 else "cells"
        yield f"{column.name!r}: {count:,} of {len(filled):,} {cells} {hold} unseen in training: {shown}"


def _check_categories(column: Column, filled: pd.Series) -> Iterator[str]:
    if column.kind == "category":
        yield from _unseen(column, filled)
    texts = filled.map(str)
    distinct = texts.unique().tolist()
    if len(distinct) == 1:
        yield _constant(column, filled)
    elif reason := _nearly_typed(texts):
        yield f"{column.name!r}{reason}"
    elif len(filled) > MIN_ROWS and len(distinct) > NEARLY_ALL * len(filled) and like_identifiers(distinct):
        count = f"{len(distinct):,} of {len(filled):,} values are distinct"
        yield f"{column.name!r}: {count}, as in an identifier; drop it (--ignore) unless it is informative"
    elif column.kind == "category" and (twins := _same_but_case(distinct)):
        yield f"{column.name!r}: {' and '.join(map(repr, twins))} are two categories"


def _nearly_typed(texts: pd.Series) -> str:
    """A message if most cells, but not all, are numbers or dates, so that the column is read as text."""
    if not texts.str.fullmatch(r"\s*0\d+\s*").any():  # codes stay text whatever else is cleared
        points, commas = like_amounts(texts).values()
        numbers = points if points.sum() >= commas.sum() else commas
        if MIN_FRACTION * len(texts) <= numbers.sum() < len(texts) and texts[numbers].nunique() >= MIN_DISTINCT:
            others = ", ".join(repr(shorten(text)) for text in texts[~numbers].unique()[:3])
            count = f"{numbers.sum():,} of {len(texts):,} cells are numbers, but not {others}"
            return f": {count}: all are read as text; clear or correct such cells to read numbers"
        if (points | commas).sum() >= MIN_FRACTION * len(texts) > numbers.sum() and numbers.sum() >= MIN_DISTINCT:
            pair = " and ".join(repr(shorten(texts[one].iloc[0])) for one in (points & ~commas, commas & ~points))
            return f" holds numbers in two forms, such as {pair}: all are read as text; write them in one form"
    if like_dates(texts).mean() >= MIN_FRACTION and texts.str.replace(r"\d", "0", regex=True).nunique() > 1:
        return " looks like dates in several formats, read as text; write all dates as 2024-12-31"
    return ""


def like_identifiers(distinct: list[str]) -> bool:
    """Whether texts mostly are of one word, or differ in their digits alone."""
    shapes = {re.sub(r"\d+", "0", text) for text in distinct}
    return (
        len(shapes) <= FEW_SHAPES * len(distinct) or sum(" " in text.strip() for text in distinct) < len(distinct) / 2
    )


def _same_but_case(distinct: list[str]) -> list[str]:
    """Two texts that differ in case or spaces only."""
    seen: dict[str, str] = {}
    for text in sorted(distinct):
        other = seen.setdefault(" ".join(text.casefold().split()), text)
        if other != text:
            return [other, text]
    return []


def _check_numbers(column: Column, filled: pd.Series) -> Iterator[str]:
    numbers = read_numbers(filled)
    distinct = len(np.unique(numbers))
    if distinct == 1:
        yield _constant(column, filled)
    elif len(numbers) > MIN_ROWS and (np.diff(numbers) == 1).all():
        yield f"{column.name!r} numbers the rows; drop it (--ignore) unless their order is informative"
    elif len(np.unique(numbers.astype(np.float32))) < NEARLY_ALL * distinct:
        yield f"{column.name!r}: its numbers differ beyond the seven digits of float32; subtract a constant"


def _constant(column: Column, filled: pd.Series) -> str:
    cell = filled.iloc[0]
    shown = plain_number(float(cell), 7, separator="") if column.kind == "number" else str(as_label(cell))
    return f"{column.name!r} is constant ({shorten(shown)})"
