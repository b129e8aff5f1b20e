"""Delimited text: CSV with commas, semicolons or bars, TSV with tabs.

A large file is cut at line ends that are not between quotes, and every chunk is read like a file of its own under the
same header. Smaller files, and those whose cells can only be understood together (decimal commas, dates of doubtful
order), are read whole.
"""

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar

import pandas as pd

from regard.core.errors import UserError
from regard.data.tables import chunks
from regard.data.tables.chunks import Chunk
from regard.data.tables.csv_text import table_text
from regard.data.tables.delimited import delimited_cells, read_delimited
from regard.data.tables.formats.base import FileFormat
from regard.data.tables.layout import Layout, find_layout
from regard.data.tables.source import TableSource

ARCHIVES = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
DECIMAL_COMMA = re.compile(rb'"[^",\n]*[0-9],(?:[0-9]{1,2}|[0-9]{4,})[^0-9",]*"')
READ_WHOLE = (b"\xff\xfe", b"\xfe\xff", *ARCHIVES, b"sep=", b'"sep=', b"\n", b"\r")


class Delimited(FileFormat):
    suffixes: ClassVar[tuple[str, ...]] = (".csv", ".tsv", ".txt", "")
    written: ClassVar[tuple[str, ...]] = (".csv", ".tsv", "")

    def read(self, source: TableSource) -> pd.DataFrame:
        return read_delimited(source, self.layout(source))

    def cells(self, source: TableSource, names: Sequence[str]) -> pd.DataFrame:
        return delimited_cells(source, self.layout(source), names)

    def layout(self, source: TableSource) -> Layout:
        with source.open() as file:
            data = file.read()
        if data.startswith(ARCHIVES):
            raise UserError(f"{source}: is a spreadsheet or an archive; name a spreadsheet .xlsx, .xls or .ods")
        return find_layout(source, data)

    def chunks(self, source: TableSource, whole: bool) -> Iterator[Chunk]:
        with source.open() as file:
            head = b"" if whole else file.read(chunks.LARGE + 1)
            if len(head) > chunks.LARGE and not head.startswith(READ_WHOLE) and b"\n" in head:
                pieces = _pieces(file, head)
                first = next(pieces)
                layout = find_layout(source, first)
                # Where commas may be decimal, they and points are read by the whole column.
                if layout.separator != ";" and not DECIMAL_COMMA.search(first):
                    yield from _delimited_chunks(source, first, pieces, layout)
                    return
        yield from super().chunks(source, whole)

    def write_to(self, frames: Iterable[pd.DataFrame], target: TableSource, file: Any) -> None:
        separator = "\t" if target.suffix == ".tsv" else ","
        for number, frame in enumerate(frames):
            file.write(table_text(frame, separator, header=number == 0).encode())


def _delimited_chunks(source: TableSource, first: bytes, pieces: Iterator[bytes], layout: Layout) -> Iterator[Chunk]:
    yield _delimited(source, first, layout, 0)
    header = first[: _record_end(first)]
    lines = first.count(b"\n") - header.count(b"\n")
    for piece in pieces:
        yield _delimited(source, header + piece, layout, lines)
        lines += piece.count(b"\n")


def _delimited(source: TableSource, data: bytes, expected: Layout, lines: int) -> Chunk:
    def layout() -> Layout:
        own = find_layout(source, data, lines)
        if (own.separator, own.names) != (expected.separator, expected.names):
            raise UserError(f"{source}, line {lines + 2}: the rows from here on are separated by {own.separator!r}")
        return own

    return Chunk(lambda: read_delimited(source, layout()), lambda names: delimited_cells(source, layout(), names))


def _pieces(file: io.BufferedIOBase, head: bytes) -> Iterator[bytes]:
    """The bytes of a file in pieces of whole records."""
    rest, position = b"", 0
    while block := head[position : position + chunks.BYTES] or file.read(chunks.BYTES):
        position += chunks.BYTES
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
