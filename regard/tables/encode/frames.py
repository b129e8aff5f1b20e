"""Any table as a pandas frame: pandas, polars, Arrow, numpy, lists of rows."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow

from regard.core.errors import ConfigError
from regard.data.tables.arrow import from_arrow


def as_frame(table: Any) -> pd.DataFrame:
    """A frame of the same cells. Columns without names get integers, as in pandas."""
    if isinstance(table, pd.DataFrame):
        return _checked(_without_arrow(table))
    if hasattr(table, "__arrow_c_stream__") and not isinstance(table, pd.Series):  # polars, Arrow, …
        try:
            return _checked(from_arrow(pyarrow.table(table)))
        except (TypeError, ValueError) as error:  # a single column, for example
            raise ConfigError(f"expected a table, not {type(table).__name__} ({error})") from None
    if hasattr(table, "tocsr"):
        raise ConfigError("sparse matrices are not supported; pass X.toarray()")
    if isinstance(table, (list, tuple)):
        return _checked(_rows(table))
    if isinstance(table, Mapping) and all(np.ndim(cells) == 1 for cells in table.values()):
        return _checked(pd.DataFrame(table))
    if isinstance(table, (str, Path)):
        raise ConfigError(f"expected a table, not the text {str(table)[:80]!r}; use pandas.read_csv(…)")
    if hasattr(table, "collect_schema"):  # a lazy frame of polars
        raise ConfigError(f"expected a table, not {type(table).__name__}; pass X.collect()")
    return _checked(_array(np.asarray(table)))


@contextmanager
def errors_in(source: object) -> Iterator[None]:
    """Errors about a table, prefixed with the name of its file."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"{source}: {error}" if str(source) not in str(error) else str(error)) from None


def has_names(frame: pd.DataFrame) -> bool:
    """Whether columns have names, not only positions."""
    return any(isinstance(name, str) for name in frame.columns)


def _without_arrow(frame: pd.DataFrame) -> pd.DataFrame:
    """With pandas' own types instead of Arrow's, which support fewer date operations."""
    positions = [place for place, dtype in enumerate(frame.dtypes) if isinstance(dtype, pd.ArrowDtype)]
    if not positions:
        return frame
    table = pyarrow.table(
        [pyarrow.array(frame.iloc[:, place].array) for place in positions], names=list(map(str, positions))
    )
    converted, frame = from_arrow(table), frame.copy(deep=False)
    for place in positions:
        frame.isetitem(place, converted[str(place)].set_axis(frame.index))
    return frame


def _rows(rows: list[Any] | tuple[Any, ...]) -> pd.DataFrame:
    """A frame from rows of cells; each column keeps its type (an array would turn everything into text)."""
    if rows and all(isinstance(row, dict) for row in rows):
        return pd.DataFrame(rows)
    if not rows or not all(isinstance(row, (list, tuple, np.ndarray)) and np.ndim(row[:0]) == 1 for row in rows):
        return _array(np.asarray(rows))
    for number, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise ConfigError(f"row {number} (counted from 0) has {len(row)} cells, the first {len(rows[0])}")
    return pd.DataFrame([list(row) for row in rows])


def _array(cells: np.ndarray) -> pd.DataFrame:
    if cells.ndim != 2:
        raise ConfigError(
            f"Expected 2D array, got {'scalar' if cells.ndim == 0 else f'{cells.ndim}D'} array instead. Reshape your "
            "data: array.reshape(-1, 1) if it is one column, array.reshape(1, -1) if it is one row"
        )
    if cells.dtype.kind == "S":
        cells = np.char.decode(cells, "utf-8", "replace")
    if cells.dtype.kind == "U":
        cells = cells.astype(object)
    return pd.DataFrame(cells).infer_objects()


def _checked(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame, checked to have rows and uniquely named columns; errors are worded as in scikit-learn."""
    rows, columns = frame.shape
    if columns == 0:
        raise ConfigError(f"Found array with 0 feature(s) (shape={frame.shape}) while a minimum of 1 is required.")
    if rows == 0:
        raise ConfigError(f"Found array with 0 sample(s) (shape={frame.shape}) while a minimum of 1 is required.")
    frame = _named(frame)
    duplicated = frame.columns[frame.columns.duplicated()]
    if len(duplicated):
        raise ConfigError(f"two columns are named {duplicated[0]!r}; column names must be unique")
    for name, kind in zip(frame.columns, frame.dtypes, strict=True):
        if getattr(kind, "kind", "") == "c":
            raise ConfigError(f"Complex data not supported: column {name!r} holds complex numbers")
    return frame


def _named(frame: pd.DataFrame) -> pd.DataFrame:
    """Column names as text, joined if they have several levels. Integers from 0 are positions, not names."""
    if list(frame.columns) == list(range(frame.shape[1])):
        return frame
    names = [" ".join(map(str, name)) if isinstance(name, tuple) else str(name) for name in frame.columns]
    return frame.set_axis(names, axis=1)
