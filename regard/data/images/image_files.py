"""Labelled images on disk: a folder for each class, idx files, an .npz, a list of files with labels, or a data set.

Memory stays small: files are listed and decoded later, arrays are read as a stream.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.core.errors import UserError
from regard.data.arrow_columns import is_dataset
from regard.data.images.image_arrays import IdxFiles, NpzFile
from regard.data.images.image_record import ImageRecord, ImageSource, Split
from regard.data.images.image_rows import ImageRows, holds_images
from regard.data.images.image_types import ImageError, Size
from regard.data.images.pixels import size_of
from regard.data.text.files import FORMATS, Fields, file_format, read_rows

SAMPLE = 100  # files whose size is looked up
IDX = re.compile(r"(?P<name>.*)(?P<split>train|t10k|test)-(?P<content>images|labels)[-.]idx\d-ubyte(\.gz)?")
SPLIT_FOLDERS = {"train", "training", "test", "testing", "val", "valid", "validation", "dev"}


def find_images(path: Path, split: Split, columns: tuple[str, ...] = ()) -> ImageSource:
    """The images of a folder or file; `split` chooses between the two that idx and .npz files may hold, `columns` are
    those of images and labels in Parquet and Arrow files."""
    if is_dataset(path):
        return ImageRows(path, columns)
    if path.is_dir():
        files = [(file, match) for file in sorted(path.iterdir()) if (match := IDX.fullmatch(file.name))]
        return _idx(path, files, split) if files else _class_folders(path)
    if not path.exists():
        raise UserError(f"{path}: there is no such file or folder")
    if file_format(path) in (".parquet", ".arrow") and holds_images(path):
        return ImageRows(path, columns)
    if path.suffix == ".npz":
        return NpzFile(path, split)
    if file_format(path) != ".txt" or path.name.endswith(".txt"):
        return _listed(path)
    raise UserError(
        f"{path}: is neither a folder with a subfolder for each class, nor an .npz, nor a list of files and labels "
        f"({', '.join(name for name in FORMATS if name != '.txt')})"
    )


@dataclass(frozen=True)
class ImageList:
    records: Sequence[ImageRecord]

    def sizes(self) -> list[Size]:
        sizes = []
        for record in self.records[:: max(1, len(self.records) // SAMPLE)]:
            try:
                assert isinstance(record.image, Path)
                sizes.append(size_of(record.image))
            except ImageError:  # reported when the image is decoded
                continue
        return sizes

    def __iter__(self) -> Iterator[ImageRecord]:
        return iter(self.records)


def _class_folders(folder: Path) -> ImageList:
    """One subfolder per class; all files below it, at any depth, belong to the class."""
    classes = [child for child in sorted(folder.iterdir()) if child.is_dir() and not child.name.startswith(".")]
    named = {child.name.lower(): child for child in classes}
    if classes and set(named) <= SPLIT_FOLDERS and any(child.is_dir() for child in classes[0].iterdir()):
        example = next((named[name] for name in ("train", "training") if name in named), classes[0])
        names = ", ".join(child.name for child in classes)
        raise UserError(f"{folder}: holds {names}, which are splits, not classes; give one of them, such as {example}")
    records = [ImageRecord(str(file), child.name, file) for child in classes for file in files_below(child)]
    if not records:
        raise UserError(f"{folder}: has no images in subfolders; each class needs a subfolder with its name")
    return ImageList(records)


def files_below(folder: Path) -> list[Path]:
    """Every file in a folder and its subfolders, except hidden ones."""
    return [
        file
        for file in sorted(folder.rglob("*"))
        if file.is_file() and not any(name.startswith(".") for name in file.relative_to(folder).parts)
    ]


def _listed(path: Path) -> ImageList:
    """Relative paths are relative to the folder of the list."""
    rows = read_rows(path, Fields(("path", "label")))
    records = [ImageRecord(f"{row}: {row.fields[0]}", row.fields[1], path.parent / row.fields[0]) for row in rows]
    if not records:
        raise UserError(f"{path}: lists no images")
    return ImageList(records)


def _idx(folder: Path, files: Sequence[tuple[Path, re.Match[str]]], split: Split) -> IdxFiles:
    wanted = ("train",) if split == "train" else ("t10k", "test")
    there = [(file, match) for file, match in files if match["split"] in wanted]
    if not there and split == "test":  # a score on the training images would mean nothing
        raise UserError(f"{folder}: has no idx files to test on ({' or '.join(wanted)}), only training files")
    there = there or list(files)
    images = [file for file, match in there if match["content"] == "images"]
    labels = [file for file, match in there if match["content"] == "labels"]
    if len(images) != 1 or len(labels) != 1:
        raise UserError(
            f"{folder}: has {len(images)} files of {wanted[0]} images and {len(labels)} of their labels; "
            "one of each is needed"
        )
    return IdxFiles(images[0], labels[0])
