"""Columns of a frame as plain Python values, for formats that are written cell by cell."""

import math
from typing import Any

import pandas as pd

from regard.data.tables.cells import EXACT


def plain_columns(frame: pd.DataFrame, dates_as_text: bool = False, float_integers: bool = False) -> list[list[Any]]:
    """Each column as None, bool, int, float, str, date or datetime. Infinity is text. `dates_as_text`: the format has
    no dates; `float_integers`: its numbers are floats, so columns of larger integers are text."""
    return [_values(frame.iloc[:, place], dates_as_text, float_integers) for place in range(frame.shape[1])]


def _values(cells: pd.Series, dates_as_text: bool, float_integers: bool) -> list[Any]:
    kind, missing = cells.dtype, cells.isna().tolist()
    if pd.api.types.is_datetime64_any_dtype(kind):
        values = _dates(cells, dates_as_text or getattr(kind, "tz", None) is not None)
    elif pd.api.types.is_bool_dtype(kind) or pd.api.types.is_integer_dtype(kind):
        values = cells.astype(object).tolist()
        if float_integers and any(abs(v) > EXACT for v, none in zip(values, missing, strict=True) if not none):
            values = list(map(str, values))
    else:
        values = [_value(cell) for cell in cells.astype(object).tolist()]
    return [None if none else value for value, none in zip(values, missing, strict=True)]


def _dates(cells: pd.Series, as_text: bool) -> list[Any]:
    """Days where no cell has a time."""
    days = getattr(cells.dtype, "tz", None) is None and bool((cells.dropna() == cells.dropna().dt.normalize()).all())
    stamps = [None if pd.isna(cell) else cell.to_pydatetime(warn=False) for cell in cells]
    values = [stamp.date() if days and stamp is not None else stamp for stamp in stamps]
    return [str(value) for value in values] if as_text else values


def _value(cell: Any) -> Any:
    value = cell.item() if hasattr(cell, "item") else cell  # numpy's own kinds
    if isinstance(value, float):
        return str(value) if math.isinf(value) else value
    return value if isinstance(value, (bool, int, str)) else str(value)
