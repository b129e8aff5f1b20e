"""Images stored as arrays, with their labels: idx files (MNIST) and .npz files, read one image at a time."""

import io
import lzma
import math
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np

from regard.core.errors import UserError, one_line
from regard.data.decompress import open_decompressed
from regard.data.images.image_record import ImageRecord, Split
from regard.data.images.image_types import MAX_PIXELS, Size

Stream = io.BufferedIOBase | IO[bytes]
ARRAYS = {  # common names of the arrays in an .npz
    "train": [("x_train", "y_train"), ("train_images", "train_labels"), ("images", "labels"), ("x", "y"), ("X", "y")],
    "test": [("x_test", "y_test"), ("test_images", "test_labels"), ("images", "labels"), ("x", "y"), ("X", "y")],
}


@dataclass(frozen=True)
class IdxFiles:
    """The format of MNIST: a header with the shape, then bytes (LeCun et al., 1998)."""

    images: Path
    labels: Path

    def sizes(self) -> list[Size]:
        with open_decompressed(self.images) as file:
            return [_checked_size(self.images, idx_shape(self.images, file)[1:])]

    def __iter__(self) -> Iterator[ImageRecord]:
        with open_decompressed(self.images) as images, open_decompressed(self.labels) as labels:
            shape, label_shape = idx_shape(self.images, images), idx_shape(self.labels, labels)
            _checked_size(self.images, shape[1:])
            if label_shape != shape[:1]:
                raise UserError(f"{self.labels}: has {label_shape} labels, {self.images} {shape[0]} images")
            for number in range(shape[0]):
                (label,) = _read_exactly(self.labels, labels, 1)
                data = _read_exactly(self.images, images, math.prod(shape[1:]))
                array = np.frombuffer(data, np.uint8).reshape(shape[1:])
                yield ImageRecord(f"{self.images}, image {number}", str(label), array)


def idx_shape(path: Path, file: Stream) -> tuple[int, ...]:
    zeros, dtype, dimensions = (header := _read_exactly(path, file, 4))[:2], header[2], header[3]
    if zeros != b"\0\0" or dtype != 8 or not 1 <= dimensions <= 4:
        raise UserError(f"{path}: is not an idx file of bytes")
    return tuple(np.frombuffer(_read_exactly(path, file, 4 * dimensions), ">u4").tolist())


@dataclass(frozen=True)
class NpzFile:
    """A NumPy archive with one array of images and one of labels."""

    path: Path
    split: Split

    def sizes(self) -> list[Size]:
        with self._opened() as file:
            images, _ = self._names(file)
            with file.open(f"{images}.npy") as array:
                return [_checked_size(self.path, _npy_header(self.path, images, array)[0][1:])]

    def __iter__(self) -> Iterator[ImageRecord]:
        with self._opened() as file:
            image_name, label_name = self._names(file)
            with file.open(f"{image_name}.npy") as images, file.open(f"{label_name}.npy") as labels:
                shape, dtype = _npy_header(self.path, image_name, images)
                label_shape, label_dtype = _npy_header(self.path, label_name, labels)
                _checked_size(self.path, shape[1:])
                if math.prod(label_shape) != shape[0]:
                    raise UserError(f"{self.path}: has {math.prod(label_shape):,} labels for {shape[0]:,} images")
                for number in range(shape[0]):  # headers can lie, so nothing is allocated for all images at once
                    [label] = np.frombuffer(
                        _read_exactly(self.path, labels, label_dtype.itemsize), label_dtype
                    ).tolist()
                    data = _read_exactly(self.path, images, math.prod(shape[1:]) * dtype.itemsize)
                    array = np.frombuffer(data, dtype).reshape(shape[1:])
                    yield ImageRecord(f"{self.path}, image {number}", str(label), array)

    @contextmanager
    def _opened(self) -> Iterator[zipfile.ZipFile]:
        try:
            file = zipfile.ZipFile(self.path)
        except (OSError, zipfile.BadZipFile, NotImplementedError) as error:
            raise UserError(f"{self.path}: is not an .npz file ({one_line(error)})") from None
        try:
            with file:
                yield file
        except RuntimeError as error:  # encrypted, or an unknown compression
            raise UserError(f"{self.path}: cannot be decompressed ({error}); save it again with NumPy") from None
        except (ValueError, OSError, EOFError, zipfile.BadZipFile, zlib.error, lzma.LZMAError) as error:
            raise UserError(f"{self.path}: is damaged ({one_line(error)})") from None

    def _names(self, file: zipfile.ZipFile) -> tuple[str, str]:
        there = {name.removesuffix(".npy") for name in file.namelist()}
        for images, labels in ARRAYS[self.split]:
            if images in there and labels in there:
                return images, labels
        raise UserError(
            f"{self.path}: holds {', '.join(sorted(there)) or 'nothing'}; its arrays should be named images and labels"
        )


def _npy_header(path: Path, name: str, array: Stream) -> tuple[tuple[int, ...], np.dtype]:
    try:
        version = np.lib.format.read_magic(array)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran_order, dtype = read(array)
    except ValueError as error:
        raise UserError(f"{path}: {name} is not an array ({one_line(error)})") from None
    if dtype.hasobject:
        raise UserError(f"{path}: {name} must hold numbers or strings, not Python objects")
    if fortran_order:
        raise UserError(f"{path}: {name} must be in C order (np.ascontiguousarray)")
    return shape, dtype


def _checked_size(path: Path, shape: tuple[int, ...]) -> Size:
    """Of a header, which may claim anything."""
    if not (len(shape) == 2 or (len(shape) == 3 and shape[2] in (1, 3, 4))) or min(shape) < 1:
        raise UserError(f"{path}: its images have shape {shape}; (height, width) or (height, width, 3) is needed")
    if math.prod(shape[:2]) > MAX_PIXELS:
        raise UserError(f"{path}: its images have {shape[0]:,}×{shape[1]:,} pixels; the limit is {MAX_PIXELS:,}")
    return shape[0], shape[1], 1 if len(shape) == 2 or shape[2] == 1 else 3


def _read_exactly(path: Path, file: Stream, count: int) -> bytes:
    data = file.read(count)
    if len(data) < count:
        raise UserError(f"{path}: ends too early; is the file complete?")
    return data
