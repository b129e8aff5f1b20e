"""Columns: what each column of a table is, learned once and then read the same way for every other table.

Kinds are inferred from what a column holds, shown (`table`), and can be set by name. Columns are matched by name, so
that another table may hold them in another order and more beside.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, cast, get_args

import numpy as np
import pandas as pd
from jaxtyping import Float

from regard.core.errors import ConfigError, did_you_mean
from regard.tables.cells import Cells
from regard.tables.column import Column, Kind
from regard.tables.frames import as_frame, has_names
from regard.tables.remarks import remarks_on, surprises_in

__all__ = ["Cells", "Column", "Columns", "Kind", "as_frame"]


@dataclass(frozen=True)
class Columns:
    columns: tuple[Column, ...]
    named: bool = True  # whether columns have names to be matched by, and not places only

    @classmethod
    def learn(cls, frame: pd.DataFrame, kinds: Mapping[str, str] | None = None) -> "Columns":
        """Columns as a table has them; `kinds` sets the kinds of some by name."""
        frame, kinds = as_frame(frame), kinds or {}
        names = _names(frame)
        for name, kind in kinds.items():
            if name not in names:
                raise ConfigError(f"kinds: there is no column {name!r}; {nearest(name, names)}")
            if kind not in get_args(Kind):
                raise ConfigError(f"kinds: {name!r} cannot be {kind!r}; known: {', '.join(get_args(Kind))}")
        columns = [
            Column.learn(frame.iloc[:, place].rename(name), cast(Kind | None, kinds.get(name)))
            for place, name in enumerate(names)
        ]
        return cls(tuple(columns), has_names(frame))

    def encode(self, frame: pd.DataFrame, reader: str = "NPT") -> Cells:
        """The cells of a table that has these columns. `reader` is whom an error names as the one to expect them."""
        names: list[str] = []
        category: list[bool] = []
        values: list[Float[np.ndarray, " row"]] = []
        for column, cells in self._matched(as_frame(frame), reader):
            parts = column.encode(cells)
            names += parts
            values += parts.values()
            category += [column.kind == "category"] * len(parts)
        return Cells(np.stack(values, axis=1).astype(np.float32), np.array(category), tuple(names))

    def decode(self, values: Float[np.ndarray, "row cell"]) -> pd.DataFrame:
        """Cells as a person reads them, from the numbers of `encode`."""
        parts = zip(self.columns, self.places(), strict=True)
        return pd.DataFrame({column.name: column.decode(values[:, places]) for column, places in parts})

    def places(self) -> list[list[int]]:
        """Which numbers of `encode` belong to each column."""
        ends = np.cumsum([column.width for column in self.columns]).tolist()
        return [list(range(end - column.width, end)) for column, end in zip(self.columns, ends, strict=True)]

    def remarks(self, frame: pd.DataFrame) -> list[str]:
        """What a person should know about the cells of this table, a line each."""
        return [line for column, cells in self._matched(as_frame(frame), "NPT") for line in remarks_on(column, cells)]

    def surprises(self, frame: pd.DataFrame) -> list[str]:
        """What is otherwise in this table than in the one that was learned, a line each."""
        return [line for column, cells in self._matched(as_frame(frame), "NPT") for line in surprises_in(column, cells)]

    def table(self) -> list[tuple[str, str, str, str]]:
        """Name, kind, share filled and some of what was seen, to be shown."""
        return [(column.name, column.kind, f"{column.filled:.0%}", column.seen) for column in self.columns]

    def to_dict(self) -> dict[str, Any]:
        return {"named": self.named, "columns": [asdict(column) for column in self.columns]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Columns":
        try:
            return cls(tuple(_read_column(column) for column in data["columns"]), bool(data["named"]))
        except (KeyError, TypeError) as error:
            raise ConfigError(f"columns: are damaged ({error})") from None

    def _matched(self, frame: pd.DataFrame, reader: str) -> list[tuple[Column, pd.Series]]:
        """Each column with its cells: by name where both sides have names, else by place."""
        if not (self.named and has_names(frame)):
            if frame.shape[1] != len(self.columns):
                count, expected = frame.shape[1], len(self.columns)
                raise ConfigError(f"X has {count} features, but {reader} is expecting {expected} features as input")
            return [(column, frame.iloc[:, i].rename(column.name)) for i, column in enumerate(self.columns)]
        places = {name: place for place, name in enumerate(_names(frame))}
        for column in self.columns:
            if column.name not in places and column.filled:
                told = f"the table has no column {column.name!r}; {nearest(column.name, list(places))}"
                raise ConfigError(
                    told if told.endswith("?") else f"{told}; if it is not known, add it with empty cells"
                )
        nothing = pd.Series(np.nan, index=frame.index)  # of a column that held nothing, and need not be there
        cells = [frame.iloc[:, places[one.name]] if one.name in places else nothing for one in self.columns]
        return [(column, own.rename(column.name)) for column, own in zip(self.columns, cells, strict=True)]


def name_features(estimator: Any, columns: Columns) -> None:
    """Tell scikit-learn what the columns of a fitted estimator are called, if anything."""
    if columns.named:
        estimator.feature_names_in_ = np.array([column.name for column in columns.columns], dtype=object)
    elif hasattr(estimator, "feature_names_in_"):  # of an earlier fit
        del estimator.feature_names_in_


def _names(frame: pd.DataFrame) -> list[str]:
    return list(frame.columns) if has_names(frame) else [f"x{place}" for place in range(frame.shape[1])]


def nearest(name: str, names: list[str], most: int = 300) -> str:
    """The end of an error line about an unknown column, short also where a table has hundreds."""
    told = did_you_mean(name, names)
    return told if len(told) <= most else f"it has {len(names):,} others"


def _read_column(data: Mapping[str, Any]) -> Column:
    unknown = set(data) - {field.name for field in fields(Column)}
    if unknown:
        raise ConfigError(f"columns: unknown key {min(unknown)!r}")
    if data["kind"] not in get_args(Kind):
        raise ConfigError(f"columns: {data['name']!r} cannot be {data['kind']!r}; known: {', '.join(get_args(Kind))}")
    return Column(**{**data, "categories": tuple(data.get("categories", ()))})
