"""Documents: where one text ends and the next begins, in files, folders of files, records and separated text."""

import codecs
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.core.errors import UserError
from regard.data.arrow_columns import dataset_files, is_dataset
from regard.data.decompress import compression_of
from regard.data.text.files import TEXT, Fields, file_format, read_rows
from regard.data.text.lines import Piece, read_pieces

log = logging.getLogger(__name__)
PROBED = 4096  # bytes of a file in a folder by which it is taken for text


@dataclass(frozen=True)
class Documents:
    """A record is a document. A plain file is one if there are several; a separator divides plain files further."""

    files: tuple[str, ...]  # or folders
    columns: tuple[str, ...] = ()  # the name of the text column in records
    separator: str = ""  # between the documents of a plain file

    def pieces(self) -> Iterator[Piece]:
        """The texts in order. A single plain file without a separator is running text, which ends nowhere."""
        files = text_files(self.files)
        several = len(files) > 1 or bool(self.separator)
        for file in files:
            if holds_records(file):
                for row in read_rows(file, Fields.named(TEXT, self.columns)):
                    yield Piece(row.fields[0], ends=True)
            else:
                for piece in read_pieces(file, self.separator):
                    yield piece if several else Piece(piece.text, ends=False)


def holds_records(path: Path) -> bool:
    """Whether a file holds documents as records, such as the lines of a .jsonl."""
    return is_dataset(path) or file_format(path) != ".txt"


def text_files(names: Sequence[str]) -> list[Path]:
    """The files, and instead of a folder the text files in it and below, in the order of their names."""
    files: list[Path] = []
    for path in map(Path, names):
        if is_dataset(path):
            files += dataset_files(path)
        else:
            files += _in_folder(path) if path.is_dir() else [path]
    return files


def _in_folder(folder: Path) -> list[Path]:
    below = (path for path in folder.rglob("*") if path.is_file())
    shown = sorted(path for path in below if not any(part[0] == "." for part in path.relative_to(folder).parts))
    files = [path for path in shown if _is_text(path)]
    if not files:
        raise UserError(f"{folder}: holds no text files; UTF-8 text, .jsonl, .csv or .parquet is read")
    if skipped := [path for path in shown if path not in set(files)]:
        some = ", ".join(path.name for path in skipped[:3]) + ", …" * (len(skipped) > 3)
        log.info("note: %s: %s files that are empty or no UTF-8 text are left out: %s", folder, len(skipped), some)
    return files


def _is_text(path: Path) -> bool:
    if compression_of(path) or holds_records(path):
        return True
    try:
        with path.open("rb") as file:
            start = file.read(PROBED)
        codecs.getincrementaldecoder("utf-8")().decode(start)  # a character may be cut at the end
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        return False
    return bool(start) and b"\0" not in start
