"""What a format of tables can do: read, read in chunks of rows, and write, whole or not at all."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar

import pandas as pd

from regard.core.errors import UserError
from regard.core.files import atomic_file
from regard.data.tables.chunks import Chunk, slices
from regard.data.tables.compress import open_compressed
from regard.data.tables.source import TableSource


class Format(ABC):
    """A format, chosen by the suffix of a file."""

    suffixes: ClassVar[tuple[str, ...]]  # of files that are read
    written: ClassVar[tuple[str, ...]]  # of files that are written
    part: ClassVar[str] = ""  # what a name after `::` is called, if the format has such parts
    queried: ClassVar[bool] = False  # whether it understands SQL

    @abstractmethod
    def read(self, source: TableSource) -> pd.DataFrame:
        """A typed column under each name."""

    def cells(self, source: TableSource, names: Sequence[str]) -> pd.DataFrame:
        """Some columns with every cell as the file has it: an identifier is no number, if it looks like one."""
        return self.read(source)[list(names)]

    def chunks(self, source: TableSource, whole: bool) -> Iterator[Chunk]:
        """The rows in chunks, in their order; `whole`: cells must be understood together."""
        return slices(self.read(source), lambda names: self.cells(source, names))

    @abstractmethod
    def check_write(self, target: TableSource) -> None:
        """Refuse a target that cannot be written, before anything is computed for it."""

    @abstractmethod
    def write(self, frames: Iterable[pd.DataFrame], target: TableSource) -> None:
        """Frames of the same columns, one below the other, as one table that is whole or absent."""


class FileFormat(Format):
    """A format whose file is one table, written anew; it may be compressed."""

    def check_write(self, target: TableSource) -> None:
        return

    def write(self, frames: Iterable[pd.DataFrame], target: TableSource) -> None:
        try:
            target.path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_file(target.path) as temporary, open_compressed(temporary, target.compression) as file:
                self.write_to(frames, target, file)
        except OSError as error:
            raise UserError(f"{target}: cannot be written ({error.strerror})") from None

    @abstractmethod
    def write_to(self, frames: Iterable[pd.DataFrame], target: TableSource, file: Any) -> None:
        """Write the bytes of a table to an open file."""
