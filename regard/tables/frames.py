"""Whatever holds a table as a pandas frame: pandas, polars, Arrow, numpy, lists of rows."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow

from regard.core.errors import ConfigError
from regard.data.tables.files import from_arrow


def as_frame(table: Any) -> pd.DataFrame:
    """A frame of the same cells. What has no names of columns gets whole numbers for names, as pandas does."""
    if isinstance(table, pd.DataFrame):
        return _checked(_without_arrow(table))
    if hasattr(table, "__arrow_c_stream__") and not isinstance(table, pd.Series):  # polars, Arrow and their kin
        try:
            return _checked(from_arrow(pyarrow.table(table)))
        except (TypeError, ValueError) as error:  # a column by itself, for one
            raise ConfigError(f"a table is needed, not {type(table).__name__} ({error})") from None
    if hasattr(table, "tocsr"):
        raise ConfigError("a sparse matrix is not supported: its zeros are cells like any other; pass X.toarray()")
    if isinstance(table, (list, tuple)):
        return _checked(_rows(table))
    if isinstance(table, Mapping) and all(np.ndim(cells) == 1 for cells in table.values()):
        return _checked(pd.DataFrame(table))
    if isinstance(table, (str, Path)):
        raise ConfigError(f"a table is needed, not the name {str(table)[:80]!r}; read it first: pandas.read_csv(…)")
    if hasattr(table, "collect_schema"):  # a plan of polars'
        raise ConfigError(f"a table is needed, not {type(table).__name__}; pass X.collect()")
    return _checked(_array(np.asarray(table)))


@contextmanager
def named(source: object) -> Iterator[None]:
    """What is wrong with a table, under the name of its file."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"{source}: {error}" if str(source) not in str(error) else str(error)) from None


def has_names(frame: pd.DataFrame) -> bool:
    """Whether columns are known by names, and not by their places alone."""
    return any(isinstance(name, str) for name in frame.columns)


def _without_arrow(frame: pd.DataFrame) -> pd.DataFrame:
    """pandas' own types in place of Arrow's, which know less of dates."""
    places = [place for place, kind in enumerate(frame.dtypes) if isinstance(kind, pd.ArrowDtype)]
    if not places:
        return frame
    table = pyarrow.table([pyarrow.array(frame.iloc[:, place].array) for place in places], names=list(map(str, places)))
    converted, frame = from_arrow(table), frame.copy(deep=False)
    for place in places:
        frame.isetitem(place, converted[str(place)].set_axis(frame.index))
    return frame


def _rows(rows: list[Any] | tuple[Any, ...]) -> pd.DataFrame:
    """Rows of cells, in which each column keeps a type of its own: an array would turn all into text for one text."""
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
    """A frame with rows, and columns under names of their own; refused in scikit-learn's words where it has some."""
    rows, columns = frame.shape
    if columns == 0:
        raise ConfigError(f"Found array with 0 feature(s) (shape={frame.shape}) while a minimum of 1 is required.")
    if rows == 0:
        raise ConfigError(f"Found array with 0 sample(s) (shape={frame.shape}) while a minimum of 1 is required.")
    frame = _named(frame)
    twice = frame.columns[frame.columns.duplicated()]
    if len(twice):
        raise ConfigError(f"two columns are called {twice[0]!r}; give each a name of its own")
    for name, kind in zip(frame.columns, frame.dtypes, strict=True):
        if getattr(kind, "kind", "") == "c":
            raise ConfigError(f"Complex data not supported: column {name!r} holds complex numbers")
    return frame


def _named(frame: pd.DataFrame) -> pd.DataFrame:
    """Names of columns as text, those of several levels joined. Numbers from 0 on are places, and no names."""
    if list(frame.columns) == list(range(frame.shape[1])):
        return frame
    names = [" ".join(map(str, name)) if isinstance(name, tuple) else str(name) for name in frame.columns]
    return frame.set_axis(names, axis=1)
