"""Parquet: columns with types of their own, read in batches of rows."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import pandas as pd
import pyarrow
import pyarrow.parquet

from regard.core.errors import UserError, one_line
from regard.data.tables import chunks
from regard.data.tables.arrow import from_arrow
from regard.data.tables.chunks import Chunk, frame_chunk
from regard.data.tables.formats.base import FileFormat
from regard.data.tables.layout import name_columns
from regard.data.tables.source import TableSource


class Parquet(FileFormat):
    suffixes: ClassVar[tuple[str, ...]] = (".parquet",)
    written: ClassVar[tuple[str, ...]] = (".parquet",)

    def read(self, source: TableSource) -> pd.DataFrame:
        with source.open() as file, _errors_in(source):
            table = pyarrow.parquet.read_table(pyarrow.BufferReader(file.read()))
            frame = from_arrow(table.rename_columns(name_columns(source, table.column_names)))
        if frame.empty:
            raise UserError(f"{source}: has no rows" if len(frame.columns) else f"{source}: has no columns")
        return frame

    def chunks(self, source: TableSource, whole: bool) -> Iterator[Chunk]:
        if source.compression or source.data is not None:
            yield from super().chunks(source, whole)
            return
        with source.open(), _errors_in(source), pyarrow.parquet.ParquetFile(source.path) as file:
            names = name_columns(source, file.schema_arrow.names)
            if not file.metadata.num_rows:
                raise UserError(f"{source}: has no rows" if names else f"{source}: has no columns")
            for batch in file.iter_batches(chunks.ROWS):
                yield frame_chunk(from_arrow(pyarrow.Table.from_batches([batch]).rename_columns(names)))

    def write_to(self, frames: Iterable[pd.DataFrame], target: TableSource, file: Any) -> None:
        writer: pyarrow.parquet.ParquetWriter | None = None
        try:
            for frame in frames:
                table = pyarrow.Table.from_pandas(frame, preserve_index=False)
                writer = writer or pyarrow.parquet.ParquetWriter(file, table.schema)
                writer.write_table(table.cast(writer.schema))
        finally:
            if writer is not None:
                writer.close()


@contextmanager
def _errors_in(source: TableSource) -> Iterator[None]:
    try:
        yield
    except (pyarrow.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise UserError(f"{source}: cannot be read as Parquet ({one_line(error)})") from None
