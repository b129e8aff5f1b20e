"""Where a table lives: a file, perhaps one sheet or table in it, perhaps a query on it; or standard input."""

import hashlib
import io
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from regard.core.errors import ConfigError, UserError
from regard.core.files import sha256
from regard.data.decompress import COMPRESSED, open_decompressed

PART = "::"  # between a file and the name of a sheet or table in it
STANDARD_INPUT = ("-", "/dev/stdin")


@dataclass(frozen=True)
class TableSource:
    """One table: `book.xlsx::Sheet2`, `shop.sqlite::orders`, `table.csv`."""

    path: Path
    part: str = ""  # a sheet of a spreadsheet or a table of a database
    query: str = ""  # SQL for a database, instead of a part
    data: bytes | None = field(default=None, repr=False)  # from standard input, which can be read only once

    def __str__(self) -> str:
        if self.data is not None:
            return "standard input"
        return f"{self.path}{PART}{self.part}" if self.part else str(self.path)

    @property
    def compression(self) -> str:
        """The suffix that names the compression, or an empty string."""
        suffix = self.path.suffix.lower()
        return suffix if suffix in COMPRESSED else ""

    @property
    def suffix(self) -> str:
        """The suffix that names the format, without that of a compression; empty if there is none."""
        name = self.path.name.removesuffix(self.path.suffix) if self.compression else self.path.name
        return Path(name).suffix.lower()

    @contextmanager
    def open(self) -> Iterator[io.BufferedIOBase]:
        """The decompressed bytes."""
        if self.data is not None:
            yield io.BytesIO(self.data)
            return
        with open_decompressed(self.path) as file:
            yield file

    def digest(self) -> str:
        """Equal where the file and what is read of it are."""
        content = sha256(self.path) if self.data is None else hashlib.sha256(self.data).hexdigest()
        return "\n".join((content, self.part, self.query))


@dataclass(frozen=True)
class JoinedTables:
    """Several tables with the same columns, one below the other."""

    sources: tuple[TableSource, ...]

    def __str__(self) -> str:
        return ", ".join(map(str, self.sources))


Tables = str | Path | TableSource | JoinedTables


def as_source(where: str | Path | TableSource, query: str = "") -> TableSource:
    """A path, perhaps with `::` and the name of a sheet or table. A file whose own name contains `::` is that file."""
    if isinstance(where, TableSource):
        return where
    text = str(where)
    if PART not in text or Path(text).exists():
        return TableSource(Path(text), query=query)
    path, _, part = text.partition(PART)
    if not path or not part:
        raise ConfigError(f"{text}: must be FILE{PART}NAME, with the name of a sheet or table")
    if query:
        raise ConfigError(f"--query: selects from its own tables; give {path} without {PART}{part}")
    return TableSource(Path(path), part)


def read_source(word: str | Path, query: str = "") -> TableSource:
    """A table of a command line, of which `-` is standard input."""
    if str(word) not in STANDARD_INPUT:
        return as_source(word, query)
    if sys.stdin.isatty():
        raise UserError("standard input: is a terminal; pipe a table into the command, or name a file")
    return TableSource(Path(word), query=query, data=sys.stdin.buffer.read())


def read_sources(words: Sequence[str | Path], query: str = "") -> TableSource | JoinedTables:
    """The tables of a command line; several are one below the other."""
    if sum(str(word) in STANDARD_INPUT for word in words) > 1:
        raise ConfigError("-: standard input can be read only once")
    sources = tuple(read_source(word, query) for word in words)
    return sources[0] if len(sources) == 1 else JoinedTables(sources)
