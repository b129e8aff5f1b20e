"""Reading cells: the numbers that a network reads of a column, one function for each kind of column."""

import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Float32

from regard.core.errors import ConfigError
from regard.data.tables.periods import read_periods
from regard.data.tables.types import most_amounts, read_dates

Label = str | bool | int | float  # a category or class as JSON stores it exactly

LARGEST = float(np.finfo(np.float32).max)
ROW = "row"  # name of an index that counts the rows of a file from 0
EPOCH = pd.Timestamp("1970-01-01")  # not pd.Timestamp(0), which counts in nanoseconds and so ends in 2262


@dataclass(frozen=True)
class Cells:
    """An encoded table: numbers unchanged, categories as codes, NaN where a cell is missing.

    The code after the last one stands for every category that was not seen in training.
    """

    values: Float32[np.ndarray, "row column"]
    category: Bool[np.ndarray, " column"]  # whether a column holds codes
    names: tuple[str, ...]

    @property
    def rows(self) -> int:
        return len(self.values)


def read_numbers(cells: pd.Series) -> Float[np.ndarray, " row"]:
    """A column as numbers: numeric text and booleans are converted, time differences are given in days."""
    kind = pd.api.types.infer_dtype(cells, skipna=True)
    if kind in ("datetime", "datetime64", "date", "period"):
        raise ConfigError(f"column {cells.name!r}: holds dates, not numbers")
    if kind.startswith("timedelta"):
        numbers = pd.Series(pd.to_timedelta(cells) / pd.Timedelta(days=1))
    elif pd.api.types.is_numeric_dtype(cells.dtype):
        numbers = cells
    else:
        numbers = pd.to_numeric(pd.Series(cells.astype(object), index=cells.index), errors="coerce")
        _refuse_text(cells, numbers.isna() & cells.notna())
    array = numbers.to_numpy(dtype=np.float64, na_value=np.nan)
    _refuse(cells, np.abs(array) > LARGEST, "is infinite or too large for float32")
    return array


def _refuse_text(cells: pd.Series, unread: pd.Series) -> None:
    """Refuse the cells that are no numbers however they are written; if each is one, all were read as text for that."""
    if unread.any():
        amounts = most_amounts(cells.map(str, na_action="ignore").astype("str"))
        _refuse(cells, cells.notna() & ~amounts, "is not a number")
        _refuse(cells, unread, "is text; write numbers as in 1234.5")


class CellError(ConfigError):
    """Cells that cannot be read: the first of a column, and how many more; several columns are joined."""

    def __init__(self, *cells: str):
        self.cells = cells
        super().__init__(f"{'; '.join(cells)}; leave unknown cells empty")


def _refuse(cells: pd.Series, wrong: Any, reason: str) -> None:
    """Raise an error that names the first wrong cell, if there is any, and counts the others."""
    places = np.flatnonzero(np.asarray(wrong))
    if len(places):
        cell, row = cells.iloc[places[0]], cells.index[places[0]] if cells.index.name == ROW else places[0]
        others = len(places) - 1
        more = f" (and {others:,} more {'cell' if others == 1 else 'cells'} of the column)" if others else ""
        raise CellError(f"column {cells.name!r}, row {row} (counted from 0): {str(cell)[:80]!r} {reason}{more}")


def is_missing(cell: Any) -> bool:
    """Whether a cell is missing; a list or an array of missing values is not."""
    return bool(pd.api.types.is_scalar(cell) and pd.isna(cell))


def as_label(value: Any) -> Label:
    """A category as JSON stores it: text, booleans and finite numbers unchanged, anything else as text."""
    value = value.item() if isinstance(value, np.generic) and not isinstance(value, (np.datetime64, np.void)) else value
    if isinstance(value, (str, bool, int)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, datetime.datetime):  # as it is written in a file
        return str(value.date()) if value.time() == datetime.time() else str(value)
    return str(value)


def read_categories(cells: pd.Series) -> tuple[Label, ...]:
    """The categories of a column, in their own order if they have one, otherwise sorted."""
    if isinstance(cells.dtype, pd.CategoricalDtype):
        return tuple(dict.fromkeys(map(as_label, cells.cat.categories)))
    filled = cells.dropna()
    if pd.api.types.infer_dtype(filled) == "boolean":
        return (False, True)
    distinct = {as_label(value) for value in (filled if filled.dtype == object else filled.unique())}
    return tuple(sorted(distinct, key=lambda value: (isinstance(value, str), value)))


def read_codes(cells: pd.Series, categories: Sequence[Label]) -> Float[np.ndarray, " row"]:
    """The code of each cell's category."""
    known: dict[Label, int] = {}
    for code, category in enumerate(categories):
        known.setdefault(category, code)
    if cells.dtype == object:
        cells = cells.map(as_label, na_action="ignore")  # lists and dictionaries are not hashable
    positions, distinct = pd.factorize(cells)
    codes = [_code(as_label(value), known) for value in distinct]
    return np.array([*codes, np.nan])[positions]  # the position of a missing cell is -1


def _code(value: Label, known: dict[Label, int]) -> int:
    """The code of a category, also if it is spelled differently.

    A file with nothing but digits in a column is read as numbers, even if that column was text in training.
    """
    for spelling in (value, *_spellings(value)):
        if spelling in known:
            return known[spelling]
    return len(known)


def _spellings(value: Label) -> list[Label]:
    if isinstance(value, bool):
        return [str(value), str(value).upper(), str(value).lower()]
    if isinstance(value, float) and value.is_integer():
        return [str(int(value)), str(value)]
    if not isinstance(value, str):
        return [str(value)]
    try:
        return [float(value)]
    except ValueError:
        return [value.lower() == "true"] if value.lower() in ("true", "false") else []


def read_datetimes(cells: pd.Series, timezone: str = "") -> pd.Series:
    """A column as naive datetimes, converted to `timezone` if one is given."""
    datetimes = read_datetime_cells(cells)
    if datetimes.dt.tz is not None:
        return (datetimes.dt.tz_convert(timezone) if timezone else datetimes).dt.tz_localize(None)
    return datetimes


def timezone_of(cells: pd.Series) -> str:
    datetimes = read_datetime_cells(cells)
    return "" if datetimes.dt.tz is None else str(datetimes.dt.tz)


def read_datetime_cells(cells: pd.Series) -> pd.Series:
    """A column as datetimes, in their zone if they have one."""
    if isinstance(cells.dtype, pd.PeriodDtype):
        return cells.dt.to_timestamp()
    if pd.api.types.is_datetime64_any_dtype(cells.dtype):
        return cells
    kind = pd.api.types.infer_dtype(cells, skipna=True)
    if kind in ("datetime", "datetime64", "date", "empty"):
        return pd.to_datetime(cells, errors="coerce", utc=_has_timezones(cells))
    text = cells.map(str, na_action="ignore").astype("str")
    if kind in ("string", "categorical") and (parsed := _parse_dates(text)) is not None:
        return parsed
    _refuse(cells, unread_dates(cells), "is not a date, such as 2024-12-31")
    raise ConfigError(f"column {cells.name!r}: mixes date formats; write all dates as 2024-12-31")


def unread_dates(cells: pd.Series) -> pd.Series:
    """The filled cells that are no date, each by itself."""
    text = cells.map(str, na_action="ignore").astype("str")
    distinct = text.dropna().unique()
    unread = {cell for cell in distinct if _parse_dates(pd.Series([cell], dtype="str")) is None}
    return text.isin(list(unread))


def _parse_dates(text: pd.Series) -> pd.Series | None:
    """Dates, or the first days of months, quarters and weeks, where all cells are of one form."""
    parsed = read_dates(text) or read_periods(text)
    return None if parsed is None else parsed[0]


def _has_timezones(cells: pd.Series) -> bool:
    return any(getattr(cell, "tzinfo", None) is not None for cell in cells.dropna())


def date_parts(datetimes: pd.Series, has_time: bool) -> dict[str, Float[np.ndarray, " row"]]:
    """The features of dates: days since 1970, year, month, weekday and, if they have a time, the time of day."""
    days = ((datetimes - EPOCH) / pd.Timedelta(days=1)).to_numpy(dtype=np.float64)
    parts = {"days": days, "year": datetimes.dt.year, "month": datetimes.dt.month, "weekday": datetimes.dt.day_of_week}
    if has_time:
        parts["time"] = days - np.floor(days)
    return {name: np.asarray(part, dtype=np.float64) for name, part in parts.items()}


def any_time(datetimes: pd.Series) -> bool:
    """Whether any time is not midnight."""
    return bool((datetimes.dropna() != datetimes.dropna().dt.normalize()).any())
