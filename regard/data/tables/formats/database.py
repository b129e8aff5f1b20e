"""What databases in a file have in common: a table is named or the only one, and is written in a transaction."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar

import pandas as pd

from regard.core.errors import ConfigError, UserError, did_you_mean
from regard.core.files import atomic_file
from regard.data.decompress import open_decompressed
from regard.data.tables.formats.base import Format
from regard.data.tables.source import PART, TableSource

DEFAULT_TABLE = "predictions"


class Database(Format):
    part: ClassVar[str] = "table"
    queried: ClassVar[bool] = True

    @abstractmethod
    def tables(self, source: TableSource) -> list[str]:
        """The names of all tables and views."""

    @abstractmethod
    def replace(self, frames: Iterable[pd.DataFrame], target: TableSource, path: Path) -> None:
        """Write a table into the database at `path`, in one transaction; one of the same name is replaced."""

    def check_write(self, target: TableSource) -> None:
        if target.path.exists():
            self.tables(target)  # refuses what is no database

    def write(self, frames: Iterable[pd.DataFrame], target: TableSource) -> None:
        named = TableSource(target.path, target.part or DEFAULT_TABLE)
        try:
            if target.path.exists():
                self.replace(frames, named, target.path)
                return
            target.path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_file(target.path) as temporary:
                self.replace(frames, named, temporary)
        except OSError as error:
            raise UserError(f"{target}: cannot be written ({error.strerror})") from None


def check_readable(source: TableSource) -> None:
    """Refuse a file that is absent, a folder or compressed, in the words that other formats use."""
    if source.compression:
        raise UserError(f"{source}: is compressed; decompress the database first")
    with open_decompressed(source.path):
        return


def chosen_table(source: TableSource, tables: Sequence[str]) -> str:
    """The table that was named, or the only one."""
    if not tables:
        raise UserError(f"{source.path}: has no tables")
    if source.part:
        if source.part in tables:
            return source.part
        raise ConfigError(f"{source.path}: has no table {source.part!r}; {did_you_mean(source.part, tables)}")
    if len(tables) > 1:
        first = f"{source.path}{PART}{tables[0]}"
        raise ConfigError(f"{source.path}: has the tables {', '.join(tables)}; name one, such as {first}")
    return tables[0]


def quoted(name: str) -> str:
    """A name as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


def check_names(frame: pd.DataFrame, target: TableSource) -> None:
    """Refuse names that a database does not tell apart."""
    lower: dict[str, str] = {}
    for name in map(str, frame.columns):
        if (other := lower.setdefault(name.lower(), name)) is not name:
            raise UserError(f"{target}: columns {other!r} and {name!r} differ in case only, which a database ignores")
