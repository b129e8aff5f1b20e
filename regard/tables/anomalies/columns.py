"""Which columns of a table are scored, and how: as levels or as numbers. Keys are shown, and texts are skipped."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.tables.data_checks import MIN_ROWS, NEARLY_ALL, like_identifiers
from regard.tables.encode.cells import read_numbers
from regard.tables.encode.column import Column, infer_kind
from regard.tables.problem import MAX_INTEGER_CLASSES, MIN_ROWS_PER_CLASS

Role = Literal["levels", "numbers", "key", "text", "empty"]
MAX_LEVELS = 100  # of a column, the most frequent ones, that are predicted


def role_of(name: str, cells: pd.Series, kind: str | None = None) -> Role:
    """How a column is scored, or why it is not. A `kind` that is set makes it no key."""
    filled = cells.dropna()
    inferred = kind or infer_kind(cells)
    if filled.empty:
        return "empty"
    if kind is None and _is_key(name, filled, inferred):
        return "key"
    if inferred == "text":
        return "text"
    if inferred == "category":
        return "levels"
    return "levels" if inferred == "number" and _few_integers(read_numbers(filled)) else "numbers"


def _is_key(name: str, filled: pd.Series, kind: str) -> bool:
    """An identifier: texts that hardly repeat and are no prose, numbers of the rows, or distinct integers called id."""
    if len(filled) <= MIN_ROWS or kind == "date":
        return False
    if kind == "number":
        numbers = read_numbers(filled)
        counts_rows = bool((np.diff(numbers) == 1).all())
        distinct = len(np.unique(numbers)) == len(numbers) and bool((numbers == numbers.round()).all())
        return counts_rows or (distinct and name.lower().replace("_", " ").split()[-1:] == ["id"])
    distinct_texts = filled.map(str).unique().tolist()
    return len(distinct_texts) > NEARLY_ALL * len(filled) and like_identifiers(distinct_texts)


def _few_integers(numbers: np.ndarray) -> bool:
    """So few that they are levels, such as 0 and 1; or one number alone, any other of which is a surprise."""
    distinct = np.unique(numbers)
    few = len(distinct) <= MAX_INTEGER_CLASSES and len(numbers) >= MIN_ROWS_PER_CLASS * len(distinct)
    return len(distinct) == 1 or (few and bool((distinct == distinct.round()).all()))


@dataclass(frozen=True)
class Levels:
    """The values of a column that are predicted as classes."""

    values: Float[Tensor, " level"]  # codes of a category, or numbers; ascending

    @classmethod
    def of(cls, cells: Float[Tensor, " row"]) -> "Levels":
        distinct, counts = cells[~cells.isnan()].unique(return_counts=True)
        return cls(distinct[counts.argsort(descending=True, stable=True)[:MAX_LEVELS]].sort().values)

    def codes(self, cells: Float[Tensor, " row"]) -> Int[Tensor, " row"]:
        """The place of each cell among the levels; -1 for others."""
        place = torch.searchsorted(self.values, cells.contiguous()).clamp(max=max(0, len(self.values) - 1))
        return torch.where(self.values[place] == cells, place, -1) if len(self.values) else place - 1


def show_value(column: Column, number: float) -> object:
    """A cell for people to read, from its first number."""
    if np.isnan(number):
        return None
    if column.kind == "date":
        day = pd.Timestamp("1970-01-01") + pd.Timedelta(seconds=round(86_400 * number))
        return str(day) if column.has_time else str(day.date())
    if column.kind == "category":
        return column.categories[int(number)] if 0 <= number < len(column.categories) else "?"
    return float(f"{number:.5g}")
