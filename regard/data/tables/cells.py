"""Cells that carry a type each, as those of a spreadsheet, of JSON or of SQLite, as typed columns.

A column is what all its filled cells are: numbers, booleans or dates. Text is understood as in a CSV file, and so is a
column of several types.
"""

import math
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time
from typing import Any

import numpy as np
import pandas as pd

from regard.core.errors import UserError
from regard.data.tables.delimited import type_text
from regard.data.tables.types import MISSING, plain

Cells = Sequence[Any]
EXACT = 1 << 53  # integers up to here are exact as floats
_MISSING = frozenset(MISSING)


def type_columns(source: object, columns: Mapping[str, Cells], whole: bool = False) -> pd.DataFrame:
    """Typed columns; `whole`: the format has no integers, and numbers that are all whole are meant as such."""
    frame = cells_as_stored(source, columns, whole)
    texts = [name for name in frame if isinstance(frame[name].dtype, pd.StringDtype)]
    if not texts:
        return frame
    typed = type_text(source, frame[texts])
    return pd.DataFrame({name: typed[name] if name in typed else frame[name] for name in frame})


def cells_as_stored(source: object, columns: Mapping[str, Cells], whole: bool = False) -> pd.DataFrame:
    """Columns of the types that all their cells have, where text stays text."""
    return pd.DataFrame({name: _stored(source, name, cells, whole) for name, cells in columns.items()})


def _stored(source: object, name: str, cells: Cells, whole: bool) -> pd.Series:
    filled = [None if cell is None or cell == "" or cell != cell else cell for cell in cells]  # nan is not itself
    types = {type(cell) for cell in filled} - {type(None)}
    if str in types and len(types) > 1 and all(c.strip() in _MISSING for c in filled if isinstance(c, str)):
        filled = [None if isinstance(cell, str) else cell for cell in filled]  # such as "n/a" between numbers
        types.remove(str)
    if bytes in types:
        raise UserError(f"{source}: {name!r} holds binary data; leave this column out")
    if not types:
        return pd.Series(np.full(len(filled), np.nan))
    if types == {bool}:
        return plain(pd.Series(filled, dtype="boolean"))
    if types <= {int, float}:
        if (numbers := _numbers(filled, types, whole)) is not None:
            return numbers
    elif types <= {date, datetime}:
        return pd.to_datetime(pd.Series(filled, dtype=object), format="ISO8601").astype("datetime64[us]")
    return pd.Series([None if cell is None else _text(cell, whole) for cell in filled], dtype="str")


def _numbers(cells: Cells, types: set[type], whole: bool) -> pd.Series | None:
    """Integers or floats; nothing for integers that neither can hold."""
    if whole and float in types and all(c is None or (c == c // 1 and abs(c) <= EXACT) for c in cells):
        cells, types = [None if cell is None else int(cell) for cell in cells], {int}
    if types == {int}:
        try:
            return plain(pd.Series(cells, dtype="Int64"))
        except OverflowError:
            return None
    return pd.Series([math.nan if cell is None else float(cell) for cell in cells], dtype="float64")


def _text(cell: Any, whole: bool) -> str:
    """A cell as a CSV file would have it."""
    if isinstance(cell, datetime):
        return str(cell.date() if cell.time() == time(0) and cell.tzinfo is None else cell)
    if whole and isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell)
