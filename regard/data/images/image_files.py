"""Labelled images as people have them: a folder for each class, idx files, an .npz, or a list of files with labels.

Nothing is held that need not be: files are named and decoded later, arrays are read as a stream.
"""

import io
import lzma
import math
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal, Protocol, runtime_checkable

import numpy as np

from regard.core.errors import UserError
from regard.data.decompress import opened
from regard.data.images.pixels import MOST_PIXELS, ImageError, Picture, Size, size_of
from regard.data.text.files import KINDS, Fields, kind_of, read_rows

Part = Literal["train", "test"]  # of files that hold both
Stream = io.BufferedIOBase | IO[bytes]
SAMPLE = 100  # files whose size is looked up
IDX = re.compile(r"(?P<name>.*)(?P<part>train|t10k|test)-(?P<what>images|labels)[-.]idx\d-ubyte(\.gz)?")
ARRAYS = {
    "train": [("x_train", "y_train"), ("train_images", "train_labels"), ("images", "labels"), ("x", "y"), ("X", "y")],
    "test": [("x_test", "y_test"), ("test_images", "test_labels"), ("images", "labels"), ("x", "y"), ("X", "y")],
}
PARTS = {"train", "training", "test", "testing", "val", "valid", "validation", "dev"}


@dataclass(frozen=True)
class Found:
    """An image before it is decoded, its label, and how to name it to a person."""

    where: str
    label: str
    picture: Picture


def name_of(picture: Picture, number: int) -> str:
    return str(picture) if isinstance(picture, str | Path) else f"image {number}"


@runtime_checkable
class Source(Protocol):
    def sizes(self) -> list[Size]:
        """Of some of the images."""

    def __iter__(self) -> Iterator[Found]: ...


def find_images(path: Path, part: Part) -> Source:
    """Whatever stands there; of files that hold two parts, the one to train on or the one to test by."""
    if path.is_dir():
        files = [(file, match) for file in sorted(path.iterdir()) if (match := IDX.fullmatch(file.name))]
        return _idx(path, files, part) if files else _classes(path)
    if not path.exists():
        raise UserError(f"{path}: there is no such file or folder")
    if path.suffix == ".npz":
        return NpzFile(path, part)
    if kind_of(path) != ".txt" or path.name.endswith(".txt"):
        return _listed(path)
    raise UserError(
        f"{path}: is neither a folder with a sub-folder for each class, nor an .npz, nor a list of files and labels "
        f"({', '.join(kind for kind in KINDS if kind != '.txt')})"
    )


@dataclass(frozen=True)
class ImageList:
    found: Sequence[Found]

    def sizes(self) -> list[Size]:
        sizes = []
        for one in self.found[:: max(1, len(self.found) // SAMPLE)]:
            try:
                assert isinstance(one.picture, Path)
                sizes.append(size_of(one.picture))
            except ImageError:  # will be told when it is its turn
                continue
        return sizes

    def __iter__(self) -> Iterator[Found]:
        return iter(self.found)


def _classes(folder: Path) -> ImageList:
    """One sub-folder a class; what is below it, however deep, is of the class."""
    classes = [child for child in sorted(folder.iterdir()) if child.is_dir() and not child.name.startswith(".")]
    named = {child.name.lower(): child for child in classes}
    if classes and set(named) <= PARTS and any(child.is_dir() for child in classes[0].iterdir()):
        part = next((named[name] for name in ("train", "training") if name in named), classes[0])
        names = ", ".join(child.name for child in classes)
        raise UserError(f"{folder}: holds {names}, which are no classes; name one of them, such as {part}")
    found = [Found(str(file), child.name, file) for child in classes for file in files_below(child)]
    if not found:
        raise UserError(f"{folder}: holds no images in sub-folders; each class needs a sub-folder with its name")
    return ImageList(found)


def files_below(folder: Path) -> list[Path]:
    """Every file of a folder and of those in it, but for hidden ones."""
    return [
        file
        for file in sorted(folder.rglob("*"))
        if file.is_file() and not any(name.startswith(".") for name in file.relative_to(folder).parts)
    ]


def _listed(path: Path) -> ImageList:
    """Paths that are not absolute begin at the list's own folder."""
    rows = read_rows(path, Fields(("path", "label")))
    found = [Found(f"{row}: {row.fields[0]}", row.fields[1], path.parent / row.fields[0]) for row in rows]
    if not found:
        raise UserError(f"{path}: lists no images")
    return ImageList(found)


# Arrays, one image after the other


def _idx(folder: Path, files: Sequence[tuple[Path, re.Match[str]]], part: Part) -> "IdxFiles":
    wanted = ("train",) if part == "train" else ("t10k", "test")
    there = [(file, match) for file, match in files if match["part"] in wanted]
    if not there and part == "test":  # those to learn from would measure nothing
        raise UserError(f"{folder}: holds no idx files to test by ({' or '.join(wanted)}), only some to train on")
    there = there or list(files)
    images = [file for file, match in there if match["what"] == "images"]
    labels = [file for file, match in there if match["what"] == "labels"]
    if len(images) != 1 or len(labels) != 1:
        raise UserError(
            f"{folder}: has {len(images)} files of {wanted[0]} images and {len(labels)} of their labels; "
            "one of each is needed"
        )
    return IdxFiles(images[0], labels[0])


@dataclass(frozen=True)
class IdxFiles:
    """The format of MNIST: a header with the sizes, then bytes (LeCun et al., 1998)."""

    images: Path
    labels: Path

    def sizes(self) -> list[Size]:
        with opened(self.images) as file:
            return [_size_of_shape(self.images, idx_shape(self.images, file)[1:])]

    def __iter__(self) -> Iterator[Found]:
        with opened(self.images) as images, opened(self.labels) as labels:
            shape, names = idx_shape(self.images, images), idx_shape(self.labels, labels)
            _size_of_shape(self.images, shape[1:])
            if names != shape[:1]:
                raise UserError(f"{self.labels}: has {names} labels, {self.images} {shape[0]} images")
            for number in range(shape[0]):
                (label,) = _exactly(self.labels, labels, 1)
                data = _exactly(self.images, images, math.prod(shape[1:]))
                array = np.frombuffer(data, np.uint8).reshape(shape[1:])
                yield Found(f"{self.images}, image {number}", str(label), array)


def idx_shape(path: Path, file: Stream) -> tuple[int, ...]:
    zeros, kind, dimensions = (header := _exactly(path, file, 4))[:2], header[2], header[3]
    if zeros != b"\0\0" or kind != 8 or not 1 <= dimensions <= 4:
        raise UserError(f"{path}: is no idx file of bytes")
    return tuple(np.frombuffer(_exactly(path, file, 4 * dimensions), ">u4").tolist())


@dataclass(frozen=True)
class NpzFile:
    """Arrays of numpy: one of images, one of labels."""

    path: Path
    part: Part

    def sizes(self) -> list[Size]:
        with self._unzipped() as file:
            images, _ = self._names(file)
            with file.open(f"{images}.npy") as array:
                return [_size_of_shape(self.path, _header(self.path, images, array)[0][1:])]

    def __iter__(self) -> Iterator[Found]:
        with self._unzipped() as file:
            images, labels = self._names(file)
            with file.open(f"{images}.npy") as array, file.open(f"{labels}.npy") as names:
                shape, kind = _header(self.path, images, array)
                many, word = _header(self.path, labels, names)
                _size_of_shape(self.path, shape[1:])
                if math.prod(many) != shape[0]:
                    raise UserError(f"{self.path}: has {math.prod(many):,} labels for {shape[0]:,} images")
                for number in range(shape[0]):  # headers may say what they like: nothing is laid out for all of them
                    [label] = np.frombuffer(_exactly(self.path, names, word.itemsize), word).tolist()
                    data = _exactly(self.path, array, math.prod(shape[1:]) * kind.itemsize)
                    pixels = np.frombuffer(data, kind).reshape(shape[1:])
                    yield Found(f"{self.path}, image {number}", str(label), pixels)

    @contextmanager
    def _unzipped(self) -> Iterator[zipfile.ZipFile]:
        try:
            file = zipfile.ZipFile(self.path)
        except (OSError, zipfile.BadZipFile, NotImplementedError) as error:
            raise UserError(f"{self.path}: is no .npz file ({error})") from None
        try:
            with file:
                yield file
        except RuntimeError as error:  # a password is asked for, or packed in a way that is not known here
            raise UserError(f"{self.path}: cannot be unpacked ({error}); save it again with numpy") from None
        except (ValueError, OSError, EOFError, zipfile.BadZipFile, zlib.error, lzma.LZMAError) as error:
            raise UserError(f"{self.path}: is damaged ({error})") from None

    def _names(self, file: zipfile.ZipFile) -> tuple[str, str]:
        there = {name.removesuffix(".npy") for name in file.namelist()}
        for images, labels in ARRAYS[self.part]:
            if images in there and labels in there:
                return images, labels
        raise UserError(
            f"{self.path}: holds {', '.join(sorted(there)) or 'nothing'}; its arrays should be named images and labels"
        )


def _header(path: Path, name: str, array: Stream) -> tuple[tuple[int, ...], np.dtype]:
    try:
        version = np.lib.format.read_magic(array)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, by_columns, kind = read(array)
    except ValueError as error:
        raise UserError(f"{path}: {name} is no array ({error})") from None
    if kind.hasobject:
        raise UserError(f"{path}: {name} must hold numbers or texts, and holds objects of Python")
    if by_columns:
        raise UserError(f"{path}: {name} must be laid out image after image (np.ascontiguousarray)")
    return shape, kind


def _size_of_shape(path: Path, shape: tuple[int, ...]) -> Size:
    """Of a header, which is not believed before it is known to be possible."""
    if not (len(shape) == 2 or (len(shape) == 3 and shape[2] in (1, 3, 4))) or min(shape) < 1:
        raise UserError(f"{path}: its images are {shape}; rows × columns, or rows × columns × 3, are read")
    if math.prod(shape[:2]) > MOST_PIXELS:
        raise UserError(f"{path}: its images have {shape[0]:,}×{shape[1]:,} pixels; {MOST_PIXELS:,} are read at most")
    return shape[0], shape[1], 1 if len(shape) == 2 or shape[2] == 1 else 3


def _exactly(path: Path, file: Stream, count: int) -> bytes:
    data = file.read(count)
    if len(data) < count:
        raise UserError(f"{path}: ends too early: is it whole?")
    return data
