"""One column: its kind, what was seen in it, and the numbers that a network reads of its cells."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from jaxtyping import Float

from regard.core.errors import ConfigError
from regard.tables.encode.cells import (
    EPOCH,
    Label,
    any_time,
    date_parts,
    read_categories,
    read_codes,
    read_datetimes,
    read_numbers,
    timezone_of,
)

ColumnKind = Literal["number", "category", "date"]
NUMBERS = ("integer", "integer-na", "floating", "mixed-integer-float", "decimal", "timedelta", "timedelta64")
DATES = ("datetime", "datetime64", "date", "period")


@dataclass(frozen=True)
class Column:
    name: str
    kind: ColumnKind
    categories: tuple[Label, ...] = ()  # in the order of their codes
    filled: float = 1.0  # fraction of cells that are not missing; a column with 0 is ignored
    summary: str = ""  # of the cells, for people
    has_time: bool = False  # whether dates have a time of day
    timezone: str = ""  # of the dates

    @classmethod
    def fit(cls, cells: pd.Series, kind: ColumnKind | None = None) -> "Column":
        """A column described by its cells; its kind is inferred unless given."""
        name, filled = str(cells.name), float(cells.notna().mean())
        kind = kind or _infer_kind(cells)
        if not filled:
            return cls(name, kind, filled=filled)
        if kind == "category":
            categories = read_categories(cells)
            return cls(name, kind, categories, filled, summary=_some(categories))
        if kind == "number":
            numbers = read_numbers(cells)
            return cls(name, kind, filled=filled, summary=f"{np.nanmin(numbers):.6g} to {np.nanmax(numbers):.6g}")
        timezone = timezone_of(cells)
        datetimes = read_datetimes(cells, timezone)
        has_time = any_time(datetimes)
        form = "%Y-%m-%d %H:%M" if has_time else "%Y-%m-%d"
        summary = f"{datetimes.min():{form}} to {datetimes.max():{form}}"
        return cls(name, kind, filled=filled, summary=summary, has_time=has_time, timezone=timezone)

    def encode(self, cells: pd.Series) -> dict[str, Float[np.ndarray, " row"]]:
        """The numbers that a network reads of this column, by name: one for each cell, several for a date."""
        if self.kind == "date":
            datetimes = read_datetimes(cells if self.filled else _empty(cells, "datetime64[us]"), self.timezone)
            return {f"{self.name} {part}": values for part, values in date_parts(datetimes, self.has_time).items()}
        if not self.filled:
            return {self.name: _empty(cells, "float64").to_numpy()}
        return {self.name: read_codes(cells, self.categories) if self.kind == "category" else read_numbers(cells)}

    @property
    def width(self) -> int:
        """How many numbers a cell is encoded in."""
        return (5 if self.has_time else 4) if self.kind == "date" else 1

    def decode(self, numbers: Float[np.ndarray, "row part"]) -> pd.Series:
        """The cells that `encode` turned into these numbers, for people to read; None where missing."""
        first = numbers[:, 0]
        known = ~np.isnan(first)
        cells = np.full(len(first), None, dtype=object)
        if self.kind == "category":
            labels = np.array([*self.categories, "?"], dtype=object)
            cells[known] = labels[np.clip(first[known].round().astype(int), 0, len(self.categories))]
        elif self.kind == "date":
            days = first.astype(np.float64)
            if self.has_time:  # days since 1970 have a precision of minutes in float32; the time of day is exact
                days = np.round(days - numbers[:, -1]) + numbers[:, -1]
            seconds = np.round(86_400 * np.where(known, days, 0.0))  # integers: fractions would become nanoseconds
            cells[known] = (EPOCH + pd.to_timedelta(seconds, unit="s")).to_numpy(dtype=object)[known]
        else:
            cells[known] = [float(f"{value:.7g}") for value in first[known]]  # the digits that float32 holds
        return pd.Series(cells, name=self.name)


def _infer_kind(cells: pd.Series) -> ColumnKind:
    """Text is a category even if all of it is digits: codes are often written like that."""
    dtype = "empty" if cells.isna().all() else pd.api.types.infer_dtype(cells, skipna=True)
    if dtype in (*NUMBERS, "empty"):
        return "number"
    if dtype == "complex":
        raise ConfigError(f"Complex data not supported: column {cells.name!r} holds complex numbers")
    return "date" if dtype in DATES else "category"


def _empty(cells: pd.Series, dtype: str) -> pd.Series:
    return pd.Series(np.nan, index=cells.index, dtype="float64").astype(dtype)


def _some(categories: tuple[Label, ...], most: int = 5) -> str:
    shown = ", ".join(str(category)[:30] for category in categories[:most])
    return shown if len(categories) <= most else f"{shown} and {len(categories) - most:,} more"
