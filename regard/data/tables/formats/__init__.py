"""Formats of tables: a file each, and a name in the union below."""

from typing import get_args

from regard.core.errors import ConfigError
from regard.data.tables.formats.delimited import Delimited
from regard.data.tables.formats.duckdb import DuckDB
from regard.data.tables.formats.json_records import JSONRecords
from regard.data.tables.formats.parquet import Parquet
from regard.data.tables.formats.spreadsheet import Spreadsheet
from regard.data.tables.formats.sqlite import SQLite
from regard.data.tables.source import PART, TableSource

TableFormat = Delimited | Parquet | JSONRecords | Spreadsheet | SQLite | DuckDB
FORMATS: tuple[TableFormat, ...] = tuple(kind() for kind in get_args(TableFormat))
HEAD = 16  # bytes that tell a database or Parquet from text


def format_to_read(source: TableSource) -> TableFormat:
    """The format by the suffix; for text, and for .db, the first bytes are looked at too."""
    chosen = next((one for one in FORMATS if source.suffix in one.suffixes), Delimited())
    if isinstance(chosen, Delimited) or source.suffix == ".db":
        chosen = _by_content(source) or chosen
    if source.part and not chosen.part:
        raise ConfigError(f"{source}: {source.path} has no parts; {PART} names a sheet, or a table of a database")
    if source.query and not chosen.queried:
        raise ConfigError(f"--query: {source} is no database; a query needs SQLite or DuckDB")
    return chosen


def _by_content(source: TableSource) -> TableFormat | None:
    with source.open() as file:
        head = file.read(HEAD)
    if head.startswith(b"PAR1"):
        return Parquet()
    if source.data is None and head.startswith(b"SQLite format 3"):
        return SQLite()
    return DuckDB() if source.data is None and head[8:12] == b"DUCK" else None


def format_to_write(target: TableSource) -> TableFormat:
    """The format by the suffix; refused where a table cannot be written."""
    chosen = next((one for one in FORMATS if target.suffix in one.written), None)
    if chosen is None:
        known = [suffix for one in FORMATS for suffix in one.written if suffix]
        raise ConfigError(
            f"{target}: a table is written as {', '.join(known[:-1])} or {known[-1]}, not {target.suffix}"
        )
    if target.part and not chosen.part:
        raise ConfigError(
            f"{target}: {target.suffix or 'CSV'} has no parts; {PART} names a sheet or a table of a database"
        )
    if target.compression and chosen.queried:
        raise ConfigError(f"{target}: a database is written without compression")
    return chosen
