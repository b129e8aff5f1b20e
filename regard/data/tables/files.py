"""Tables as people have them: text, Parquet, JSON, spreadsheets and databases, in and out."""

import logging
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from regard.core.errors import UserError
from regard.data.tables.chunks import Chunk
from regard.data.tables.delimited import delimited_cells, type_text
from regard.data.tables.formats import format_to_read, format_to_write
from regard.data.tables.formats.delimited import Delimited
from regard.data.tables.source import JoinedTables, Tables, TableSource, as_source
from regard.data.tables.types import plain

log = logging.getLogger(__name__)


def read_table(where: Tables) -> pd.DataFrame:
    """A table with a typed column under each name of its header. A sheet or a table of a database is named after `::`,
    as in `book.xlsx::Sheet2`."""
    if isinstance(where, JoinedTables):
        return _read_joined(where)
    source = as_source(where)
    return format_to_read(source).read(source)


def table_chunks(where: str | Path | TableSource, whole: bool = False) -> Iterator[Chunk]:
    """The rows of a table in chunks, in order; `whole`: its cells must be understood together."""
    source = as_source(where)
    return format_to_read(source).chunks(source, whole)


def check_written(where: str | Path | TableSource) -> None:
    """Refuse a file that a table cannot be written to."""
    target = as_source(where)
    format_to_write(target).check_write(target)


def write_table(frame: pd.DataFrame, where: str | Path | TableSource) -> None:
    """A table in the format that the name says, whole or absent, compressed if the name says so. Text that could be a
    formula is safe to open in a spreadsheet. In a database, other tables stay as they are."""
    write_frames([frame], where)


def write_frames(frames: Iterable[pd.DataFrame], where: str | Path | TableSource) -> None:
    """Frames of the same columns, one below the other, as one table."""
    target = as_source(where)
    chosen = format_to_write(target)
    chosen.check_write(target)
    chosen.write(frames, target)


def _read_joined(joined: JoinedTables) -> pd.DataFrame:
    """Several tables below one another. Columns of text files are typed together: a date may be clear in one only."""
    formats = [format_to_read(source) for source in joined.sources]
    layouts = [
        one.layout(where) for one, where in zip(formats, joined.sources, strict=True) if isinstance(one, Delimited)
    ]
    if len(layouts) == len(formats) and len({layout.separator for layout in layouts}) == 1:
        pairs = zip(joined.sources, layouts, strict=True)
        texts = [delimited_cells(source, layout, layout.names) for source, layout in pairs]
        return type_text(joined, _below(joined, texts), layouts[0].separator, layouts[0].unnamed)
    frames = [one.read(source) for one, source in zip(formats, joined.sources, strict=True)]
    return _below(joined, frames)


def _below(joined: JoinedTables, frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    first = frames[0]
    for source, frame in zip(joined.sources[1:], frames[1:], strict=True):
        for here, there, file, other in (
            (first, frame, source, joined.sources[0]),
            (frame, first, joined.sources[0], source),
        ):
            if absent := [name for name in here if name not in there]:
                raise UserError(f"{file}: has no column {absent[0]!r}, which {other} has")
    columns = {name: _column(joined, name, [frame[name] for frame in frames]) for name in first}
    return pd.DataFrame(columns)


def _column(joined: JoinedTables, name: str, parts: Sequence[pd.Series]) -> pd.Series:
    """One column of several tables; where they have different types, all is text."""
    kinds = {_kind(part): source for part, source in zip(parts, joined.sources, strict=True) if part.notna().any()}
    if len(kinds) > 1:
        described = " and ".join(f"{kind} in {source}" for kind, source in kinds.items())
        log.info(f"{joined}: {name!r} is {described}, and is read as text")
        parts = [part.astype(object).where(part.isna(), part.astype(str)) for part in parts]
        return pd.concat(parts, ignore_index=True).astype("str")
    zones = {str(getattr(part.dtype, "tz", None)) for part in parts if pd.api.types.is_datetime64_any_dtype(part.dtype)}
    if len(zones) > 1:
        parts = [pd.to_datetime(part, utc=True) for part in parts]
    starts = np.cumsum([0, *map(len, parts)])
    placed = [part.set_axis(part.index + start) for part, start in zip(parts, starts, strict=False)]
    cells = pd.concat([part for part in placed if part.notna().any()] or placed)
    if pd.api.types.is_bool_dtype(cells.dtype) or pd.api.types.is_integer_dtype(cells.dtype):
        cells = cells.convert_dtypes()  # to a type that can be missing, as in a table where all of it is
    return plain(cells.reindex(range(starts[-1])))


def _kind(cells: pd.Series) -> str:
    if pd.api.types.is_bool_dtype(cells.dtype):
        return "true or false"
    if pd.api.types.is_numeric_dtype(cells.dtype):
        return "a number"
    return "a date" if pd.api.types.is_datetime64_any_dtype(cells.dtype) else "text"
