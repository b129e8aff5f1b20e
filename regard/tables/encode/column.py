"""One column: its kind, what was seen in it, and the numbers that a network reads of its cells."""

from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

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
from regard.tables.encode.text import TextEncoder, TextTargets, as_texts, fit_text, sort_texts, text_positions
from regard.tables.plain_numbers import number_range

ColumnKind = Literal["number", "category", "date", "text"]
Parts = dict[str, Float[np.ndarray, " row"]]  # the numbers of a column's cells, by name
NUMBERS = ("integer", "integer-na", "floating", "mixed-integer-float", "decimal", "timedelta", "timedelta64")
DATES = ("datetime", "datetime64", "date", "period")
MIN_TEXTS = 30  # distinct ones; fewer are categories, however long they are
MIN_WORDS = 1.5  # on average, for texts that repeat
MIN_LENGTH = 20
REPEATS = 0.5  # distinct texts for each row, at most, for texts to be categories too


@dataclass(frozen=True)
class Column:
    name: str
    kind: ColumnKind
    categories: tuple[Label, ...] = ()  # in the order of their codes; of text, what is shown of each, by length
    filled: float = 1.0  # fraction of cells that are not missing; a column with 0 is ignored
    summary: str = ""  # of the cells, for people
    has_time: bool = False  # whether dates have a time of day
    timezone: str = ""  # of the dates
    repeats: bool = False  # whether texts repeat, and are categories too
    ranks: tuple[float, ...] = ()  # the number of each text, if some were added after the fit; else 0, 1, 2, …
    encoder: TextEncoder | None = field(default=None, compare=False)  # of text

    @classmethod
    def describe(cls, cells: pd.Series, kind: ColumnKind | None = None) -> "Column":
        """A column described by its cells; its kind is inferred unless given. Text is not read yet."""
        name, filled = str(cells.name), float(cells.notna().mean())
        kind = kind or infer_kind(cells)
        if not filled:
            return cls(name, kind, filled=filled)
        if kind == "text":
            texts = as_texts(cells.dropna())
            shown = sort_texts(texts)
            return cls(name, kind, shown, filled, some_of(shown), repeats=len(shown) <= REPEATS * len(texts))
        if kind == "category":
            categories = read_categories(cells)
            return cls(name, kind, categories, filled, summary=some_of(categories))
        if kind == "number":
            numbers = read_numbers(cells)
            return cls(name, kind, filled=filled, summary=number_range(np.nanmin(numbers), np.nanmax(numbers)))
        timezone = timezone_of(cells)
        datetimes = read_datetimes(cells, timezone)
        has_time = any_time(datetimes)
        form = "%Y-%m-%d %H:%M" if has_time else "%Y-%m-%d"
        summary = f"{datetimes.min():{form}} to {datetimes.max():{form}}"
        return cls(name, kind, filled=filled, summary=summary, has_time=has_time, timezone=timezone)

    @classmethod
    def fit(cls, cells: pd.Series, kind: ColumnKind | None = None, targets: TextTargets | None = None) -> "Column":
        """A column that can encode cells. Text learns from the targets, if there are any."""
        kind = kind or infer_kind(cells)
        return cls.fit_encode(cells, kind, targets)[0] if kind == "text" else cls.describe(cells, kind)

    @classmethod
    def fit_encode(
        cls, cells: pd.Series, kind: ColumnKind | None = None, targets: TextTargets | None = None
    ) -> tuple["Column", Parts]:
        """A column and its own cells encoded: text that has learned from targets is encoded out of sample."""
        column = cls.describe(cells, kind)
        if column.kind != "text" or not column.filled:
            return column, column.encode(cells)
        known = cells.notna().to_numpy()
        texts = as_texts(cells[known])
        encoder, numbers = fit_text(texts, None if targets is None else targets[known])
        return replace(column, encoder=encoder), column._spread(known, texts, numbers)

    def encode(self, cells: pd.Series) -> Parts:
        """The numbers that a network reads of this column, by name: one for each cell, several for a date or a text."""
        if self.kind == "date":
            datetimes = read_datetimes(cells if self.filled else _empty(cells, "datetime64[us]"), self.timezone)
            return {f"{self.name} {part}": values for part, values in date_parts(datetimes, self.has_time).items()}
        if not self.filled:
            return {self.name: _empty(cells, "float64").to_numpy()}
        if self.encoder is not None:
            known = cells.notna().to_numpy()
            texts = as_texts(cells[known])
            return self._spread(known, texts, self.encoder.encode(texts))
        return {self.name: read_codes(cells, self.categories) if self.kind == "category" else read_numbers(cells)}

    def _spread(self, known: np.ndarray, texts: list[str], numbers: np.ndarray) -> Parts:
        """The numbers of the filled cells of text, missing in between."""
        parts = np.full((len(known), 1 + numbers.shape[1]), np.nan)
        parts[known, 0] = text_positions(texts, self.categories, self.repeats, self.ranks)  # type: ignore[arg-type]
        parts[known, 1:] = numbers
        names = [self.name, *(f"{self.name} words {number + 1}" for number in range(numbers.shape[1]))]
        return dict(zip(names, parts.T, strict=True))

    @property
    def width(self) -> int:
        """How many numbers a cell is encoded in."""
        if self.encoder is not None:
            return 1 + self.encoder.width
        return (5 if self.has_time else 4) if self.kind == "date" else 1

    @property
    def is_category(self) -> list[bool]:
        """For each of these numbers, whether it is the code of a category."""
        return [self.kind == "category" or self.repeats, *[False] * (self.width - 1)]

    @property
    def labels(self) -> dict[float, Label]:
        """The category or text of each number; texts so close that they share one cannot be distinguished."""
        ranks = np.asarray(self.ranks, np.float32).tolist() if self.ranks else range(len(self.categories))
        labels: dict[float, Label] = {}
        for rank, label in zip(ranks, self.categories, strict=True):
            labels[rank] = "?" if rank in labels else label
        return labels

    def to_dict(self) -> dict[str, Any]:
        """As JSON stores it, without the encoder of text, which is arrays."""
        return {one.name: getattr(self, one.name) for one in fields(self) if one.name != "encoder"}

    def decode(self, numbers: Float[np.ndarray, "row part"]) -> pd.Series:
        """The cells that `encode` turned into these numbers, for people to read; None where missing."""
        first = numbers[:, 0]
        known = ~np.isnan(first)
        cells = np.full(len(first), None, dtype=object)
        if self.kind in ("category", "text"):
            labels = self.labels
            cells[known] = [labels.get(float(code), "?") for code in first[known]]
        elif self.kind == "date":
            days = first.astype(np.float64)
            if self.has_time:  # days since 1970 have a precision of minutes in float32; the time of day is exact
                days = np.round(days - numbers[:, -1]) + numbers[:, -1]
            seconds = np.round(86_400 * np.where(known, days, 0.0))  # integers: fractions would become nanoseconds
            cells[known] = (EPOCH + pd.to_timedelta(seconds, unit="s")).to_numpy(dtype=object)[known]
        else:
            cells[known] = [float(f"{value:.7g}") for value in first[known]]  # the digits that float32 holds
        return pd.Series(cells, name=self.name)


def infer_kind(cells: pd.Series) -> ColumnKind:
    """The kind of a column. Digits written as text are no numbers: codes are often written like that."""
    dtype = "empty" if cells.isna().all() else pd.api.types.infer_dtype(cells, skipna=True)
    if dtype in (*NUMBERS, "empty"):
        return "number"
    if dtype == "complex":
        raise ConfigError(f"Complex data not supported: column {cells.name!r} holds complex numbers")
    if dtype in DATES:
        return "date"
    return "text" if dtype == "string" and _holds_text(cells) else "category"


def _holds_text(cells: pd.Series) -> bool:
    """Whether there are many distinct strings which repeat little, or are long, or mostly hold several words."""
    filled = cells.dropna()
    distinct = filled.unique()
    if len(distinct) < MIN_TEXTS:
        return False
    some = [str(text) for text in distinct[: 20 * MIN_TEXTS]]
    words, length = (float(np.mean([size(text) for text in some])) for size in (lambda text: len(text.split()), len))
    return len(distinct) > REPEATS * len(filled) or words >= MIN_WORDS or length >= MIN_LENGTH


def _empty(cells: pd.Series, dtype: str) -> pd.Series:
    return pd.Series(np.nan, index=cells.index, dtype="float64").astype(dtype)


def some_of(categories: tuple[Label, ...], most: int = 5) -> str:
    """The first categories, to be shown."""
    shown = ", ".join(
        repr(shorten(category)) if isinstance(category, str) else str(category) for category in categories[:most]
    )
    return shown if len(categories) <= most else f"{shown} and {len(categories) - most:,} more"


def shorten(text: str, most: int = 30) -> str:
    """A text of at most so many letters; an ellipsis shows where it is cut."""
    return text if len(text) <= most else text[: most - 1] + "…"
