"""A large table in chunks of rows, so that it need not fit in memory.

Parquet is read in batches of rows. A large delimited file is cut at line ends that are not between quotes, and every
chunk is read like a file of its own under the same header. Smaller files, and those whose cells can only be understood
together (decimal commas, dates of doubtful order), are read whole and then cut.
"""

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import pandas as pd
import pyarrow
import pyarrow.parquet

from regard.core.errors import UserError
from regard.data.decompress import compression_of, open_decompressed
from regard.data.tables.files import delimited_cells, from_arrow, read_cells, read_delimited, read_table
from regard.data.tables.layout import Layout, find_layout, name_columns
from regard.data.text.files import file_format

ROWS = 16_384  # of a chunk
BYTES = 4 << 20  # of a chunk of a delimited file
LARGE = 32 << 20  # bytes: smaller files are read whole
WHOLE = (b"\xff\xfe", b"\xfe\xff", b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"PAR1", b"sep=", b'"sep=', b"\n", b"\r")


@dataclass(frozen=True)
class Chunk:
    """Some rows, read when they are asked for."""

    frame: Callable[[], pd.DataFrame]
    cells: Callable[[Sequence[str]], pd.DataFrame]  # some columns as the file has them


def table_chunks(path: Path, whole: bool = False) -> Iterator[Chunk]:
    """The rows of a table in chunks, in order; `whole`: its cells must be understood together."""
    if file_format(path) == ".parquet" and not compression_of(path):
        yield from _parquet_chunks(path)
        return
    with open_decompressed(path) as file:
        head = b"" if whole else file.read(LARGE + 1)
        if len(head) > LARGE and not head.startswith(WHOLE) and b"\n" in head:
            pieces = _pieces(file, head)
            first = next(pieces)
            layout = find_layout(path, first)
            if layout.separator != ";":  # with it, commas and points are read by the whole column
                yield from _delimited_chunks(path, first, pieces, layout)
                return
    yield from _slices(path, read_table(path))


def _slices(path: Path, frame: pd.DataFrame) -> Iterator[Chunk]:
    cells = cache(partial(read_cells, path))
    for start in range(0, len(frame), ROWS):
        rows = slice(start, start + ROWS)
        yield Chunk(partial(_rows, frame, rows), partial(_sliced_cells, cells, rows))


def _sliced_cells(cells: Callable[[tuple[str, ...]], pd.DataFrame], rows: slice, names: Sequence[str]) -> pd.DataFrame:
    return _rows(cells(tuple(names)), rows)


def _rows(frame: pd.DataFrame, rows: slice) -> pd.DataFrame:
    return frame.iloc[rows].reset_index(drop=True)


def _delimited_chunks(path: Path, first: bytes, pieces: Iterator[bytes], layout: Layout) -> Iterator[Chunk]:
    yield _delimited(path, first, layout, 0)
    header = first[: _record_end(first)]
    lines = first.count(b"\n") - header.count(b"\n")
    for piece in pieces:
        yield _delimited(path, header + piece, layout, lines)
        lines += piece.count(b"\n")


def _delimited(path: Path, data: bytes, expected: Layout, lines: int) -> Chunk:
    def layout() -> Layout:
        own = find_layout(path, data, lines)
        if (own.separator, own.names) != (expected.separator, expected.names):
            raise UserError(f"{path}, line {lines + 2}: the rows from here on are separated by {own.separator!r}")
        return own

    return Chunk(lambda: read_delimited(path, layout()), lambda names: delimited_cells(path, layout(), names))


def _pieces(file: io.BufferedIOBase, head: bytes) -> Iterator[bytes]:
    """The bytes of a file in pieces of whole records."""
    rest, position = b"", 0
    while block := head[position : position + BYTES] or file.read(BYTES):
        position += BYTES
        data = rest + block
        end = _last_end(data)
        if end:
            yield data[:end]
        rest = data[end:]
    if rest.strip():
        yield rest


def _last_end(data: bytes) -> int:
    """Where the last whole record ends; a line end after an odd number of quotes is part of a cell."""
    before, end = data.count(b'"'), len(data)
    while (line := data.rfind(b"\n", 0, end)) >= 0:
        before -= data.count(b'"', line, end)
        if before % 2 == 0:
            return line + 1
        end = line
    return 0


def _record_end(data: bytes) -> int:
    """Where the first record ends."""
    end = data.find(b"\n") + 1
    while data.count(b'"', 0, end) % 2:
        end = data.find(b"\n", end) + 1
    return end


def _columns(frame: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    return frame[list(names)]


def _parquet_chunks(path: Path) -> Iterator[Chunk]:
    try:
        with open_decompressed(path), pyarrow.parquet.ParquetFile(path) as file:
            names = name_columns(path, file.schema_arrow.names)
            if not file.metadata.num_rows:
                raise UserError(f"{path}: has no rows" if names else f"{path}: has no columns")
            for batch in file.iter_batches(ROWS):
                frame = from_arrow(pyarrow.Table.from_batches([batch]).rename_columns(names))
                yield Chunk(partial(_rows, frame, slice(None)), partial(_columns, frame))
    except pyarrow.ArrowException as error:
        raise UserError(f"{path}: cannot be read as Parquet ({str(error).splitlines()[0]})") from None
