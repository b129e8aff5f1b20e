"""One column: its kind, what was seen in it, and the numbers that a network reads of its cells."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from jaxtyping import Float

from regard.core.errors import ConfigError
from regard.tables.cells import (
    EPOCH,
    Label,
    date_parts,
    has_clock,
    read_categories,
    read_codes,
    read_moments,
    read_numbers,
    zone_of,
)

Kind = Literal["number", "category", "date"]
NUMBERS = ("integer", "integer-na", "floating", "mixed-integer-float", "decimal", "timedelta", "timedelta64")
DATES = ("datetime", "datetime64", "date", "period")


@dataclass(frozen=True)
class Column:
    name: str
    kind: Kind
    categories: tuple[Label, ...] = ()  # in the order of their codes
    filled: float = 1.0  # share of the cells that held something; nothing can be said of a column that held nothing
    seen: str = ""  # what they held, for people
    clock: bool = False  # whether its dates tell the time
    zone: str = ""  # whose time

    @classmethod
    def learn(cls, cells: pd.Series, kind: Kind | None = None) -> "Column":
        """A column as its cells have it, under their name; `kind` where that is not to be inferred."""
        name, filled = str(cells.name), float(cells.notna().mean())
        kind = kind or _kind_of(cells)
        if not filled:
            return cls(name, kind, filled=filled)
        if kind == "category":
            categories = read_categories(cells)
            return cls(name, kind, categories, filled, seen=_some(categories))
        if kind == "number":
            numbers = read_numbers(cells)
            return cls(name, kind, filled=filled, seen=f"{np.nanmin(numbers):.6g} to {np.nanmax(numbers):.6g}")
        zone = zone_of(cells)
        moments = read_moments(cells, zone)
        clock = has_clock(moments)
        form = "%Y-%m-%d %H:%M" if clock else "%Y-%m-%d"
        seen = f"{moments.min():{form}} to {moments.max():{form}}"
        return cls(name, kind, filled=filled, seen=seen, clock=clock, zone=zone)

    def encode(self, cells: pd.Series) -> dict[str, Float[np.ndarray, " row"]]:
        """The numbers that a network reads of this column, by their names: one for each cell, several for a date."""
        if self.kind == "date":
            moments = read_moments(cells if self.filled else _nothing(cells, "datetime64[us]"), self.zone)
            return {f"{self.name} {part}": values for part, values in date_parts(moments, self.clock).items()}
        if not self.filled:
            return {self.name: _nothing(cells, "float64").to_numpy()}
        read = read_codes(cells, self.categories) if self.kind == "category" else read_numbers(cells)
        return {self.name: read}

    @property
    def width(self) -> int:
        """How many numbers a network reads of each cell."""
        return (5 if self.clock else 4) if self.kind == "date" else 1

    def decode(self, numbers: Float[np.ndarray, "row part"]) -> pd.Series:
        """What the numbers of `encode` stand for, as a person reads it; None where nothing is known."""
        first = numbers[:, 0]
        known = ~np.isnan(first)
        cells = np.full(len(first), None, dtype=object)
        if self.kind == "category":
            labels = np.array([*self.categories, "?"], dtype=object)
            cells[known] = labels[np.clip(first[known].round().astype(int), 0, len(self.categories))]
        elif self.kind == "date":
            days = first.astype(np.float64)
            if self.clock:  # in 32 bits days since 1970 step by minutes; the time of day, the last part, does not
                days = np.round(days - numbers[:, -1]) + numbers[:, -1]
            seconds = np.round(86_400 * np.where(known, days, 0.0))  # whole: of parts pandas makes nanoseconds
            cells[known] = (EPOCH + pd.to_timedelta(seconds, unit="s")).to_numpy(dtype=object)[known]
        else:
            cells[known] = [float(f"{value:.7g}") for value in first[known]]  # as many digits as 32 bits hold
        return pd.Series(cells, name=self.name)


def _kind_of(cells: pd.Series) -> Kind:
    """Text is a category even where all of it is digits: who wrote it as text had a reason."""
    held = "empty" if cells.isna().all() else pd.api.types.infer_dtype(cells, skipna=True)
    if held in (*NUMBERS, "empty"):
        return "number"
    if held == "complex":
        raise ConfigError(f"Complex data not supported: column {cells.name!r} holds complex numbers")
    return "date" if held in DATES else "category"


def _nothing(cells: pd.Series, kind: str) -> pd.Series:
    return pd.Series(np.nan, index=cells.index, dtype="float64").astype(kind)


def _some(categories: tuple[Label, ...], most: int = 5) -> str:
    shown = ", ".join(str(category)[:30] for category in categories[:most])
    return shown if len(categories) <= most else f"{shown} and {len(categories) - most:,} more"
