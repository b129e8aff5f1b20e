"""SQLite, through Python's own module.

A file is opened read-only. A query becomes a temporary view, which SQLite allows for a single select only; the view
also knows the declared types of its columns. SQLite has neither dates nor booleans: dates are text, and 0 and 1 are
booleans where the column is declared so.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd

from regard.core.errors import ConfigError, UserError, one_line
from regard.data.tables import chunks
from regard.data.tables.cells import cells_as_stored, type_columns
from regard.data.tables.chunks import Chunk
from regard.data.tables.formats.database import Database, check_names, check_readable, chosen_table, quoted
from regard.data.tables.layout import name_columns
from regard.data.tables.plain_values import plain_columns
from regard.data.tables.source import TableSource

VIEW = '"regard rows"'
_TABLES = "select name from sqlite_master where type in ('table', 'view') and name not like 'sqlite\\_%' escape '\\'"


class SQLite(Database):
    suffixes: ClassVar[tuple[str, ...]] = (".sqlite", ".sqlite3", ".db")
    written: ClassVar[tuple[str, ...]] = (".sqlite", ".sqlite3", ".db")

    def tables(self, source: TableSource) -> list[str]:
        with _connected(source) as connection:
            return _tables(connection)

    def read(self, source: TableSource) -> pd.DataFrame:
        (columns,) = _column_chunks(source, None)
        return type_columns(source, columns)

    def cells(self, source: TableSource, names: Sequence[str]) -> pd.DataFrame:
        (columns,) = _column_chunks(source, None)
        return cells_as_stored(source, {name: columns[name] for name in names})

    def chunks(self, source: TableSource, whole: bool) -> Iterator[Chunk]:
        check_readable(source)
        if whole or source.path.stat().st_size <= chunks.LARGE:
            yield from super().chunks(source, whole)
            return
        for columns in _column_chunks(source, chunks.ROWS):
            yield _chunk(source, columns)

    def replace(self, frames: Iterable[pd.DataFrame], target: TableSource, path: Path) -> None:
        table = quoted(target.part)
        try:
            with closing(sqlite3.connect(path, isolation_level=None)) as connection:
                connection.execute("begin immediate")
                for number, frame in enumerate(frames):
                    if number == 0:
                        check_names(frame, target)
                        connection.execute(f"drop table if exists {table}")
                        types = [f"{quoted(str(name))} {_declared(kind)}" for name, kind in frame.dtypes.items()]
                        connection.execute(f"create table {table} ({', '.join(types)})")
                    places = ", ".join("?" * frame.shape[1])
                    rows = zip(*plain_columns(frame, dates_as_text=True), strict=True)
                    connection.executemany(f"insert into {table} values ({places})", rows)
                connection.execute("commit")  # without it, closing rolls back
        except (sqlite3.Error, OverflowError) as error:
            raise UserError(f"{target}: cannot be written ({one_line(error)})") from None


def _chunk(source: TableSource, columns: dict[str, list[Any]]) -> Chunk:
    def cells(names: Sequence[str]) -> pd.DataFrame:
        return cells_as_stored(source, {name: columns[name] for name in names})

    return Chunk(lambda: type_columns(source, columns), cells)


def _declared(kind: Any) -> str:
    if pd.api.types.is_bool_dtype(kind):
        return "BOOLEAN"
    if pd.api.types.is_integer_dtype(kind):
        return "INTEGER"
    if pd.api.types.is_datetime64_any_dtype(kind):
        return "TIMESTAMP"
    return "REAL" if pd.api.types.is_float_dtype(kind) else "TEXT"


@contextmanager
def _connected(source: TableSource) -> Iterator[sqlite3.Connection]:
    check_readable(source)
    try:
        with closing(sqlite3.connect(f"{source.path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            yield connection
    except (sqlite3.Error, UnicodeError) as error:
        raise UserError(f"{source}: cannot be read as SQLite ({one_line(error)})") from None


def _tables(connection: sqlite3.Connection) -> list[str]:
    return [name for (name,) in connection.execute(_TABLES)]


def _column_chunks(source: TableSource, rows: int | None) -> Iterator[dict[str, list[Any]]]:
    """The cells under each name, of so many rows at a time or of all."""
    with _connected(source) as connection:
        query = source.query or f"select * from {quoted(chosen_table(source, _tables(connection)))}"
        try:
            connection.execute(f"create temp view {VIEW} as {query.strip().rstrip(';')}")
            declared = connection.execute(f"pragma temp.table_info({VIEW})").fetchall()
            cursor = connection.execute(f"select * from temp.{VIEW}")
        except sqlite3.Error as error:
            if not source.query:
                raise
            raise ConfigError(f"--query: {source} cannot run it ({one_line(error)})") from None
        names = name_columns(source, [row[1] for row in declared])
        booleans = [str(row[2]).upper() in ("BOOLEAN", "BOOL") for row in declared]
        fetched = cursor.fetchall() if rows is None else cursor.fetchmany(rows)
        if not fetched:
            raise UserError(f"{source}: has no rows")
        while fetched:
            columns = list(map(list, zip(*fetched, strict=True)))
            yield dict(zip(names, map(_as_booleans, columns, booleans), strict=True))
            fetched = [] if rows is None else cursor.fetchmany(rows)


def _as_booleans(cells: list[Any], declared: bool) -> list[Any]:
    if not declared or not all(cell is None or cell in (0, 1) for cell in cells):
        return cells
    return [None if cell is None else bool(cell) for cell in cells]
