"""DuckDB: columns with types of their own, read as a stream of Arrow batches.

A file is opened read-only and without access to other files or the network; a query is one select. One thread, so that
rows come in the same order each time.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd
import pyarrow

from regard.core.errors import ConfigError, UserError, one_line
from regard.core.extras import require
from regard.data.tables import chunks
from regard.data.tables.arrow import from_arrow
from regard.data.tables.chunks import Chunk, frame_chunk
from regard.data.tables.formats.database import Database, check_names, check_readable, chosen_table, quoted
from regard.data.tables.layout import name_columns
from regard.data.tables.source import TableSource

READ_ONLY: dict[str, Any] = {"enable_external_access": "false", "python_enable_replacements": "false", "threads": "1"}
_TABLES = "select table_schema, table_name from information_schema.tables order by all"
_SCHEMA = "main"  # the one that needs no name


class DuckDB(Database):
    suffixes: ClassVar[tuple[str, ...]] = (".duckdb", ".ddb")
    written: ClassVar[tuple[str, ...]] = (".duckdb", ".ddb")

    def tables(self, source: TableSource) -> list[str]:
        with _connected(source) as connection:
            return list(_tables(connection))

    def read(self, source: TableSource) -> pd.DataFrame:
        return from_arrow(pyarrow.concat_tables(_batches(source, chunks.ROWS)))

    def chunks(self, source: TableSource, whole: bool) -> Iterator[Chunk]:
        for table in _batches(source, chunks.ROWS):
            yield frame_chunk(from_arrow(table))

    def check_write(self, target: TableSource) -> None:
        require("files", f"writing {target.suffix}")
        super().check_write(target)

    def replace(self, frames: Iterable[pd.DataFrame], target: TableSource, path: Path) -> None:
        import duckdb

        schema, _, name = target.part.rpartition(".")
        table = f"{quoted(schema or _SCHEMA)}.{quoted(name)}"
        try:
            with duckdb.connect(str(path)) as connection:
                connection.begin()
                for number, frame in enumerate(frames):
                    if number == 0:
                        check_names(frame, target)
                    connection.register("new rows", pyarrow.Table.from_pandas(frame, preserve_index=False))
                    into = f"insert into {table}" if number else f"create or replace table {table} as"
                    connection.execute(f'{into} select * from "new rows"')
                    connection.unregister("new rows")
                connection.commit()  # without it, closing rolls back
        except duckdb.Error as error:
            raise UserError(f"{target}: cannot be written ({one_line(error)})") from None


@contextmanager
def _connected(source: TableSource) -> Iterator[Any]:
    require("files", f"reading {source.suffix}")
    import duckdb

    check_readable(source)
    try:
        with duckdb.connect(str(source.path), read_only=True, config=READ_ONLY) as connection:
            yield connection
    except duckdb.Error as error:
        raise UserError(f"{source}: cannot be read as DuckDB ({one_line(error)})") from None


def _tables(connection: Any) -> dict[str, str]:
    """Tables and views, by the names that people give them, with those of SQL."""
    named = connection.execute(_TABLES).fetchall()
    return {
        table if schema == _SCHEMA else f"{schema}.{table}": f"{quoted(schema)}.{quoted(table)}"
        for schema, table in named
    }


def _batches(source: TableSource, rows: int) -> Iterator[pyarrow.Table]:
    """The rows, so many at a time, as columns of types that pandas has."""
    with _connected(source) as connection:
        tables = _tables(connection)
        query = _checked_query(source, connection) or f"from {tables[chosen_table(source, list(tables))]}"
        with _errors_of(source):
            reader = connection.sql(query).to_arrow_reader(rows)
            names = name_columns(source, reader.schema.names)
            rest, empty = reader.schema.empty_table(), True
            for batch in reader:
                empty = False
                rest = pyarrow.concat_tables([rest, pyarrow.Table.from_batches([batch])])
                while len(rest) >= rows:  # batches are of any length, but a resumed prediction needs equal chunks
                    yield _plain(source, rest.slice(0, rows).rename_columns(names))
                    rest = rest.slice(rows)
            if empty:
                raise UserError(f"{source}: has no rows")
            if len(rest):
                yield _plain(source, rest.rename_columns(names))


def _checked_query(source: TableSource, connection: Any) -> str:
    import duckdb

    if not source.query:
        return ""
    with _errors_of(source):
        statements = connection.extract_statements(source.query)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise ConfigError("--query: must be a single select")
    return source.query


@contextmanager
def _errors_of(source: TableSource) -> Iterator[None]:
    """What is wrong with a query."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        if not source.query:
            raise
        raise ConfigError(f"--query: {source} cannot run it ({str(error).splitlines()[0]})") from None


def _plain(source: TableSource, table: pyarrow.Table) -> pyarrow.Table:
    """With floats or integers for decimals, which sums are as well, and text for times; nested values are refused."""
    kinds = pyarrow.types
    for place, field in enumerate(table.schema):
        kind = field.type
        if kinds.is_nested(kind) or kinds.is_binary(kind) or kinds.is_large_binary(kind) or kinds.is_interval(kind):
            raise UserError(f"{source}: {field.name!r} is of type {kind}; leave it out with --query 'select …'")
        if kinds.is_decimal(kind):
            cells = table.column(place)
            try:
                converted = cells.cast(pyarrow.int64() if kind.scale == 0 else pyarrow.float64())
            except pyarrow.ArrowInvalid:  # too large for an integer
                converted = cells.cast(pyarrow.float64())
            table = table.set_column(place, field.name, converted)
        elif kinds.is_time(kind):
            table = table.set_column(place, field.name, table.column(place).cast(pyarrow.string()))
    return table
