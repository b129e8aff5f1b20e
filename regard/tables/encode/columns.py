"""The columns of a table: fitted once, then applied to every other table with the same columns.

Kinds are inferred from the cells, reported (`table`), and can be set by name. Columns are matched by name, so another
table may hold them in another order and have more columns.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast, get_args

import numpy as np
import pandas as pd
from jaxtyping import Float

from regard.core.errors import ConfigError, did_you_mean
from regard.tables.encode.cells import CellError, Cells
from regard.tables.encode.column import Column, ColumnKind, Parts
from regard.tables.encode.frames import as_frame, has_names
from regard.tables.encode.text import TextTargets


@dataclass(frozen=True)
class Columns:
    columns: tuple[Column, ...]
    named: bool = True  # whether columns are matched by name rather than by position

    @classmethod
    def fit(
        cls, frame: pd.DataFrame, kinds: Mapping[str, str] | None = None, targets: TextTargets | None = None
    ) -> "Columns":
        """The columns of a table; `kinds` sets the kinds of some by name, and text learns from the targets."""
        frame = as_frame(frame)
        return cls(tuple(Column.fit(*each, targets) for each in _with_kinds(frame, kinds or {})), has_names(frame))

    @classmethod
    def describe(cls, frame: pd.DataFrame, kinds: Mapping[str, str] | None = None) -> "Columns":
        """The columns of a table to be shown, or to be refused: text is not read, and nothing can be encoded."""
        frame = as_frame(frame)
        return cls(tuple(Column.describe(*each) for each in _with_kinds(frame, kinds or {})), has_names(frame))

    @classmethod
    def fit_encode(
        cls, frame: pd.DataFrame, kinds: Mapping[str, str] | None, targets: TextTargets | None
    ) -> tuple["Columns", Cells]:
        """The columns of a table and its encoded cells: training rows, whose text is encoded out of sample."""
        frame = as_frame(frame)
        fitted = [Column.fit_encode(*each, targets) for each in _with_kinds(frame, kinds or {})]
        columns = cls(tuple(column for column, _ in fitted), has_names(frame))
        return columns, columns._join(parts for _, parts in fitted)

    def encode(self, frame: pd.DataFrame, estimator: str = "NPT") -> Cells:
        """The encoded cells of a table with these columns; errors name the `estimator` that expects them."""
        parts, wrong = list[Parts](), list[str]()
        for column, cells in self.match(as_frame(frame), estimator):
            try:
                parts.append(column.encode(cells))
            except CellError as error:
                wrong += error.cells
        if wrong:
            raise CellError(*wrong)
        return self._join(parts)

    def _join(self, columns: Iterable[Parts]) -> Cells:
        joined = {(place, name): part for place, parts in enumerate(columns) for name, part in parts.items()}
        values = np.stack(list(joined.values()), axis=1).astype(np.float32)
        return Cells(values, np.array(self.is_category), tuple(name for _, name in joined))

    def decode(self, values: Float[np.ndarray, "row cell"]) -> pd.DataFrame:
        """Cells for people to read, from the numbers of `encode`."""
        parts = zip(self.columns, self.positions(), strict=True)
        return pd.DataFrame({column.name: column.decode(values[:, positions]) for column, positions in parts})

    def positions(self) -> list[list[int]]:
        """Which numbers of `encode` belong to each column."""
        ends = np.cumsum([column.width for column in self.columns]).tolist()
        return [list(range(end - column.width, end)) for column, end in zip(self.columns, ends, strict=True)]

    def identity_positions(self) -> list[int]:
        """The numbers of `encode` that say which cell it is: not the scores of a text."""
        parts = zip(self.columns, self.positions(), strict=True)
        return [place for column, places in parts for place in (places[:1] if column.kind == "text" else places)]

    @property
    def width(self) -> int:
        """How many numbers a row is encoded in."""
        return sum(column.width for column in self.columns)

    @property
    def is_category(self) -> list[bool]:
        """For each number of `encode`, whether it is the code of a category."""
        return [each for column in self.columns for each in column.is_category]

    def table(self) -> list[tuple[str, str, str, str]]:
        """Name, kind, fraction of filled cells and a summary of each column, to be shown."""
        return [(column.name, column.kind, f"{column.filled:.0%}", column.summary) for column in self.columns]

    def to_dict(self) -> dict[str, Any]:
        return {"named": self.named, "columns": [column.to_dict() for column in self.columns]}

    def match(self, frame: pd.DataFrame, estimator: str = "NPT") -> list[tuple[Column, pd.Series]]:
        """Each column with its cells: by name if both sides have names, otherwise by position."""
        if not (self.named and has_names(frame)):
            if frame.shape[1] != len(self.columns):
                count, expected = frame.shape[1], len(self.columns)
                raise ConfigError(f"X has {count} features, but {estimator} is expecting {expected} features as input")
            return [(column, frame.iloc[:, i].rename(column.name)) for i, column in enumerate(self.columns)]
        places = {name: place for place, name in enumerate(_names(frame))}
        if absent := [one.name for one in self.columns if one.name not in places and one.filled]:
            raise ConfigError(_absent(absent, list(places)))
        missing = pd.Series(np.nan, index=frame.index)  # a column that was empty in training may be absent
        cells = [frame.iloc[:, places[one.name]] if one.name in places else missing for one in self.columns]
        return [(column, each.rename(column.name)) for column, each in zip(self.columns, cells, strict=True)]


def _absent(names: list[str], known: list[str], most: int = 20) -> str:
    """An error message about columns that a table does not have, with the nearest that it has."""
    close = {name: hint for name in names if (hint := did_you_mean(name, known)).endswith("?")}
    if len(names) == 1:
        hint = close.get(names[0], "if its values are unknown, add it with empty cells")
        return f"the table has no column {names[0]!r}; {hint}"
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    shown = ", ".join(map(repr, names[:most])) + more
    hints = [f"for {name!r} {hint}" for name, hint in list(close.items())[:3]]
    return "; ".join(
        [f"the table has no columns {shown}", *hints, "if values are unknown, add columns with empty cells"]
    )


def _with_kinds(frame: pd.DataFrame, kinds: Mapping[str, str]) -> list[tuple[pd.Series, ColumnKind | None]]:
    """The columns of a frame, each with its kind if that is set."""
    names = _names(frame)
    for name, kind in kinds.items():
        if name not in names:
            raise ConfigError(f"kinds: there is no column {name!r}; {nearest(name, names)}")
        if kind not in get_args(ColumnKind):
            raise ConfigError(f"kinds: {name!r} cannot be {kind!r}; known: {', '.join(get_args(ColumnKind))}, ignore")
    return [
        (frame.iloc[:, place].rename(name), cast(ColumnKind | None, kinds.get(name)))
        for place, name in enumerate(names)
    ]


def name_features(estimator: Any, columns: Columns) -> None:
    """Set scikit-learn's `feature_names_in_` of a fitted estimator, if the columns have names."""
    if columns.named:
        estimator.feature_names_in_ = np.array([column.name for column in columns.columns], dtype=object)
    elif hasattr(estimator, "feature_names_in_"):  # from an earlier fit
        del estimator.feature_names_in_


def _names(frame: pd.DataFrame) -> list[str]:
    return list(frame.columns) if has_names(frame) else [f"x{place}" for place in range(frame.shape[1])]


def nearest(name: str, names: list[str], most: int = 300) -> str:
    """The end of an error message about an unknown column, kept short for tables with hundreds of columns."""
    hint = did_you_mean(name, names)
    return hint if len(hint) <= most else f"it has {len(names):,} others"
