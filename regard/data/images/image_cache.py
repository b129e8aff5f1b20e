"""The image cache: labelled images decoded once to bytes of one size on disk, then memory-mapped."""

import json
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from regard.core.errors import UserError
from regard.core.files import atomic_file, read_json, write_text
from regard.core.machine import usable_cores
from regard.data.images.image_files import ImageRecord
from regard.data.images.image_types import ImageError, Resize
from regard.data.images.pixels import pixels
from regard.data.progress import progress

GROUP = 256  # images decoded at a time
GROUP_BYTES = 1 << 26  # undecoded bytes that may wait; a file waits as its path, an array with its contents


@dataclass(frozen=True)
class ImageFormat:
    """The size and channels of the images that a model reads."""

    side: int
    channels: int
    resize: Resize = "crop"


@dataclass(frozen=True)
class ImageCache:
    images: np.ndarray  # image, channel, row, column: bytes
    labels: tuple[str, ...]  # of each image
    where: tuple[str, ...]  # for each distinct label, where its first image was read from: for error messages
    skipped: tuple[str, ...]  # error messages of the images that could not be read

    def label_ids(self, names: Sequence[str]) -> np.ndarray:
        """The index of each image's label in `names`."""
        ids = {name: number for number, name in enumerate(names)}
        for label, where in zip(dict.fromkeys(self.labels), self.where, strict=True):
            if label not in ids:
                raise UserError(f"{where}: the label {label!r} does not occur in the training images")
        return np.array([ids[label] for label in self.labels])


def decode(
    records: Iterable[ImageRecord], image_format: ImageFormat
) -> Iterator[tuple[ImageRecord, np.ndarray | ImageError]]:
    """The pixels of each image, or the error that prevented reading it; one decoding thread per core."""
    with ThreadPoolExecutor(usable_cores()) as pool:
        for group in _groups(records):
            yield from zip(group, pool.map(lambda record: _pixels(record, image_format), group), strict=True)


def _groups(records: Iterable[ImageRecord]) -> Iterator[list[ImageRecord]]:
    """Groups large enough to keep every core busy and small enough to fit into memory."""
    group: list[ImageRecord] = []
    size = 0
    for record in records:
        group.append(record)
        size += record.image.nbytes if isinstance(record.image, np.ndarray) else 0
        if len(group) == GROUP or size >= GROUP_BYTES:
            yield group
            group, size = [], 0
    yield group


def _pixels(record: ImageRecord, image_format: ImageFormat) -> np.ndarray | ImageError:
    try:
        return pixels(record.image, image_format.side, image_format.channels, image_format.resize, where=record.where)
    except ImageError as error:
        return error


def write_image_cache(records: Iterable[ImageRecord], path: Path, image_format: ImageFormat) -> None:
    """Complete or absent: the pixels first, then the JSON file that describes them."""
    labels: list[str] = []
    first: dict[str, str] = {}
    skipped: list[str] = []
    with atomic_file(path) as temporary, temporary.open("wb") as out:
        for record, result in progress(decode(records, image_format), "images decoded"):
            if isinstance(result, ImageError):
                skipped.append(str(result))
                continue
            out.write(np.ascontiguousarray(result).data)
            labels.append(record.label)
            first.setdefault(record.label, record.where)
    shape = [len(labels), image_format.channels, image_format.side, image_format.side]
    description = {"shape": shape, "labels": labels, "where": list(first.values()), "skipped": skipped}
    write_text(_description_path(path), json.dumps(description, ensure_ascii=False))


def read_image_cache(path: Path) -> ImageCache:
    description = read_json(_description_path(path))
    labels, skipped = description["labels"], description["skipped"]
    if not labels:
        raise UserError(f"no image could be read: {skipped[0]}" if skipped else "there are no images")
    images = np.memmap(path, dtype=np.uint8, mode="r", shape=tuple(description["shape"]))
    return ImageCache(images, tuple(labels), tuple(description["where"]), tuple(skipped))


def _description_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.json")
