"""Labelled images inside Parquet and Arrow files, as Hugging Face's `datasets` has them: image {bytes, path}, label."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from regard.core.errors import ConfigError, UserError
from regard.data.arrow_columns import Column, choose, columns_of, dataset_files, read_columns
from regard.data.images.image_record import ImageRecord
from regard.data.images.image_types import ImageError, Size
from regard.data.images.pixels import size_of

FIELDS = ("image", "label")
HINT = "; set the names of the image and label columns with --columns"
BYTES, PATH = "bytes", "path"
ROWS = 64  # of a batch: images are large
SAMPLE = 100  # images whose size is looked up


def check_image_columns(columns: Sequence[str]) -> None:
    if columns and (len(columns) != 2 or columns[0] == columns[1]):
        raise ConfigError(
            f"columns: must be the names of the image and label columns, such as --columns {' '.join(FIELDS)}; "
            f"not {' '.join(columns)}"
        )


def holds_images(path: Path) -> bool:
    """Whether a Parquet or Arrow file has a column of bytes; other files list the paths of images."""
    return any(_is_bytes(column) for column in columns_of(path))


def _is_bytes(column: Column) -> bool:
    import pyarrow

    return bool(pyarrow.types.is_binary(column.type) or pyarrow.types.is_large_binary(column.type))


@dataclass(frozen=True)
class ImageRows:
    path: Path  # a file, or a folder of `datasets`
    columns: tuple[str, ...] = ()  # the names of the image and label columns, if they are not image and label

    @cached_property
    def files(self) -> list[Path]:
        return dataset_files(self.path) if self.path.is_dir() else [self.path]

    def sizes(self) -> list[Size]:
        sizes: list[Size] = []
        for number, record in enumerate(self):
            if number == SAMPLE:
                break
            try:
                assert isinstance(record.image, bytes | Path)
                sizes.append(size_of(record.image))
            except ImageError:  # reported when the image is decoded
                continue
        return sizes

    def __iter__(self) -> Iterator[ImageRecord]:
        for file in self.files:
            known = columns_of(file)
            image, label = self._image(file, known), self._label(file, known)
            paths = [column for column in known if column.path == (*image.path[:-1], PATH) and len(image.path) > 1]
            for number, (data, name, *path) in enumerate(read_columns(file, [image, label, *paths], ROWS), 1):
                where = f"{file}, image {number}"
                if name in (None, ""):
                    raise UserError(f"{where}: has no label; remove the row")
                yield ImageRecord(where, str(name), _content(data, path, file))

    def _image(self, file: Path, known: Sequence[Column]) -> Column:
        candidates = [column for column in known if _is_bytes(column)]
        name = self.columns[0] if self.columns else FIELDS[0]
        named = [column for column in candidates if name in (column.name, column.path[0])]
        if not self.columns and not named and len(candidates) == 1:
            return candidates[0]
        if len(named) != 1:
            names = ", ".join(column.path[0] for column in candidates) or "none"
            raise UserError(f"{file}: has no column {name!r} with the bytes of images; columns of bytes: {names}{HINT}")
        return named[0]

    def _label(self, file: Path, known: Sequence[Column]) -> Column:
        classes = [column for column in known if column.classes is not None]
        if not self.columns and not any(column.name == FIELDS[1] for column in known) and len(classes) == 1:
            return classes[0]
        name = self.columns[1] if self.columns else FIELDS[1]
        others = [column for column in known if not _is_bytes(column) and column.path[-1] != PATH]
        return choose(file, others, [name], ordered=False, hint=HINT)[0]


def _content(data: Any, path: list[Any], file: Path) -> bytes | Path:
    """The bytes of an image; where a row has none, the file that it names, beside the data set."""
    if data is None and path and isinstance(path[0], str):
        return file.parent / path[0]
    return data if isinstance(data, bytes) else b""
