"""Rows that somebody gives cell by cell, in JSON or in a form, as a table with the columns of the training data."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from regard.core.errors import ConfigError, did_you_mean
from regard.tables.encode.column import Column

Row = Mapping[str, Any]


def check_row(estimator: Any, row: Row, name: str = "") -> None:
    """Refuse columns that the training data did not have, and cells that are none; `name` is of the row in errors."""
    columns = dict.fromkeys(column.name for column in estimator.columns_.columns)
    for column, cell in row.items():
        if column not in columns and column not in estimator.keys_:
            where = f"{name}: " if name else ""
            raise ConfigError(f"{where}the table has no column {column!r}; {did_you_mean(column, columns)}")
        if isinstance(cell, list | dict):
            where = f"{name}.{column}" if name else column
            raise ConfigError(f"{where}: must be a text, a number, true, false or null")


def as_table(estimator: Any, rows: Sequence[Row]) -> pd.DataFrame:
    """A cell that is absent in a row is missing, and so is an empty text."""
    cells = {column.name: _cells(column, rows) for column in estimator.columns_.columns}
    return pd.DataFrame({name: pd.Series(column, dtype=object) for name, column in cells.items()})


def _cells(column: Column, rows: Sequence[Row]) -> list[Any]:
    """Categories may be numbers or booleans, which forms, and sometimes JSON, hold as texts."""
    by_text = {str(one): one for one in column.categories} if column.kind == "category" else {}
    cells = [row.get(column.name) for row in rows]
    return [(by_text.get(cell, cell) if cell.strip() else None) if isinstance(cell, str) else cell for cell in cells]
