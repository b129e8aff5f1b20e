"""Cells as numbers: what a network reads of a column, one way for each kind of column."""

import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Float32

from regard.core.errors import ConfigError
from regard.data.tables.types import read_dates

Label = str | bool | int | float  # what JSON keeps exactly

LARGEST = float(np.finfo(np.float32).max)
ROW = "row"  # name of an index that counts the rows of a file from 0
EPOCH = pd.Timestamp("1970-01-01")  # not of 0, which would count in nanoseconds and so end in 2262


@dataclass(frozen=True)
class Cells:
    """A table as a network reads it: numbers as they are, categories by their codes, NaN where nothing is known. The
    code after the last is that of every category that was never seen."""

    values: Float32[np.ndarray, "row column"]
    category: Bool[np.ndarray, " column"]  # whether the numbers of a column are codes
    names: tuple[str, ...]

    @property
    def rows(self) -> int:
        return len(self.values)


def read_numbers(cells: pd.Series) -> Float[np.ndarray, " row"]:
    """A column's numbers, text and booleans among them where they are meant as such; spans of time in days."""
    kind = pd.api.types.infer_dtype(cells, skipna=True)
    if kind in ("datetime", "datetime64", "date", "period"):
        raise ConfigError(f"column {cells.name!r}: holds dates, not numbers")
    if kind.startswith("timedelta"):
        numbers = pd.Series(pd.to_timedelta(cells) / pd.Timedelta(days=1))
    elif pd.api.types.is_numeric_dtype(cells.dtype):
        numbers = cells
    else:
        numbers = pd.to_numeric(pd.Series(cells.astype(object), index=cells.index), errors="coerce")
        _refuse(cells, numbers.isna() & cells.notna(), "is not a number; leave unknown cells empty")
    found = numbers.to_numpy(dtype=np.float64, na_value=np.nan)
    _refuse(cells, np.abs(found) > LARGEST, "is infinity or too large for 32 bits; leave unknown cells empty")
    return found


def _refuse(cells: pd.Series, wrong: Any, told: str) -> None:
    """Name the first wrong cell."""
    places = np.flatnonzero(np.asarray(wrong))
    if len(places):
        cell, row = cells.iloc[places[0]], cells.index[places[0]] if cells.index.name == ROW else places[0]
        raise ConfigError(f"column {cells.name!r}, row {row} (counted from 0): {str(cell)[:80]!r} {told}")


def is_gap(cell: Any) -> bool:
    """Whether nothing is known of a cell; a list or an array of gaps is something."""
    return bool(pd.api.types.is_scalar(cell) and pd.isna(cell))


def label(value: Any) -> Label:
    """A category as JSON keeps it: text, truth and numbers as they are, all else as text."""
    value = value.item() if isinstance(value, np.generic) and not isinstance(value, (np.datetime64, np.void)) else value
    if isinstance(value, (str, bool, int)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, datetime.datetime):  # as a file has it
        return str(value.date()) if value.time() == datetime.time() else str(value)
    return str(value)


def read_categories(cells: pd.Series) -> tuple[Label, ...]:
    """The categories of a column: in the order that they have, or sorted where they have none."""
    if isinstance(cells.dtype, pd.CategoricalDtype):
        return tuple(dict.fromkeys(map(label, cells.cat.categories)))
    filled = cells.dropna()
    if pd.api.types.infer_dtype(filled) == "boolean":
        return (False, True)
    found = {label(value) for value in (filled if filled.dtype == object else filled.unique())}
    return tuple(sorted(found, key=lambda value: (isinstance(value, str), value)))


def read_codes(cells: pd.Series, categories: Sequence[Label]) -> Float[np.ndarray, " row"]:
    """The code of each cell's category."""
    known: dict[Label, int] = {}
    for code, category in enumerate(categories):
        known.setdefault(category, code)
    if cells.dtype == object:
        cells = cells.map(label, na_action="ignore")  # lists and dictionaries cannot be looked up
    places, distinct = pd.factorize(cells)
    codes = [_code(label(value), known) for value in distinct]
    return np.array([*codes, np.nan])[places]  # a missing cell's place is -1


def _code(value: Label, known: dict[Label, int]) -> int:
    """A category's code, also where it is written in another way: a file in which every code is made of digits reads as
    numbers, though one of the training rows held a letter."""
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


def read_moments(cells: pd.Series, zone: str = "") -> pd.Series:
    """A column's dates on the clock of `zone`, or on their own."""
    moments = _moments(cells)
    if moments.dt.tz is not None:
        return (moments.dt.tz_convert(zone) if zone else moments).dt.tz_localize(None)
    return moments


def zone_of(cells: pd.Series) -> str:
    moments = _moments(cells)
    return "" if moments.dt.tz is None else str(moments.dt.tz)


def _moments(cells: pd.Series) -> pd.Series:
    if isinstance(cells.dtype, pd.PeriodDtype):
        return cells.dt.to_timestamp()
    if pd.api.types.is_datetime64_any_dtype(cells.dtype):
        return cells
    kind = pd.api.types.infer_dtype(cells, skipna=True)
    if kind in ("datetime", "datetime64", "date", "empty"):
        return pd.to_datetime(cells, errors="coerce", utc=_has_zones(cells))
    text = cells.map(str, na_action="ignore").astype("str")
    if kind in ("string", "categorical") and (found := read_dates(text)) is not None:
        return found[0]
    alone = text.map(lambda cell: read_dates(pd.Series([cell])) is None, na_action="ignore")
    _refuse(cells, alone.fillna(False).astype(bool), "is not a date, such as 2024-12-31")
    raise ConfigError(f"column {cells.name!r}: holds dates of several forms; write all as 2024-12-31")


def _has_zones(cells: pd.Series) -> bool:
    return any(getattr(cell, "tzinfo", None) is not None for cell in cells.dropna())


def date_parts(moments: pd.Series, clock: bool) -> dict[str, Float[np.ndarray, " row"]]:
    """What there is to learn from dates: how far along, and where in the year, the week and the day."""
    days = ((moments - EPOCH) / pd.Timedelta(days=1)).to_numpy(dtype=np.float64)
    parts = {"days": days, "year": moments.dt.year, "month": moments.dt.month, "weekday": moments.dt.day_of_week}
    if clock:
        parts["time"] = days - np.floor(days)
    return {name: np.asarray(part, dtype=np.float64) for name, part in parts.items()}


def has_clock(moments: pd.Series) -> bool:
    """Whether any time is not midnight."""
    return bool((moments.dropna() != moments.dropna().dt.normalize()).any())
