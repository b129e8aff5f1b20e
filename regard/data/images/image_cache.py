"""An album: labelled images decoded once to bytes of one size on disk, and mapped into memory as they are needed."""

import json
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from regard.core.errors import UserError
from regard.core.files import read_json, replacing, write_text
from regard.core.machine import usable_cores
from regard.data.images.image_files import Found
from regard.data.images.pixels import Framing, ImageError, pixels
from regard.data.progress import counted

TOGETHER = 256  # images decoded at a time
HELD = 1 << 26  # bytes of them that may wait to be decoded: of files only names wait, of arrays all that is in them


@dataclass(frozen=True)
class View:
    """How a model sees an image."""

    side: int
    channels: int
    framing: Framing = "crop"


@dataclass(frozen=True)
class Album:
    images: np.ndarray  # image, channel, row, column: bytes
    labels: tuple[str, ...]  # of each image
    where: tuple[str, ...]  # what stands for each of the labels' first image, to be named to a person
    skipped: tuple[str, ...]  # images that could not be read, and why

    def numbers(self, names: Sequence[str]) -> np.ndarray:
        """The place of each image's label among these names."""
        places = {name: number for number, name in enumerate(names)}
        for label, where in zip(dict.fromkeys(self.labels), self.where, strict=True):
            if label not in places:
                raise UserError(f"{where}: the label {label!r} does not occur in the training images")
        return np.array([places[label] for label in self.labels])


def decode(found: Iterable[Found], view: View) -> Iterator[tuple[Found, np.ndarray | ImageError]]:
    """The pixels of each image, or why it has none; a thread a core decodes."""
    with ThreadPoolExecutor(usable_cores()) as pool:
        for together in _groups(found):
            yield from zip(together, pool.map(lambda one: _pixels(one, view), together), strict=True)


def _groups(found: Iterable[Found]) -> Iterator[list[Found]]:
    """So many that every core has work, and so few that they fit into memory."""
    group: list[Found] = []
    held = 0
    for one in found:
        group.append(one)
        held += one.picture.nbytes if isinstance(one.picture, np.ndarray) else 0
        if len(group) == TOGETHER or held >= HELD:
            yield group
            group, held = [], 0
    yield group


def _pixels(one: Found, view: View) -> np.ndarray | ImageError:
    try:
        return pixels(one.picture, view.side, view.channels, view.framing, one.where)
    except ImageError as error:
        return error


def write_album(found: Iterable[Found], path: Path, view: View) -> None:
    """Whole or absent: the bytes first, then what says how many there are."""
    labels: list[str] = []
    first: dict[str, str] = {}
    skipped: list[str] = []
    with replacing(path) as temporary, temporary.open("wb") as out:
        for one, answer in counted(decode(found, view), "images decoded"):
            if isinstance(answer, ImageError):
                skipped.append(str(answer))
                continue
            out.write(np.ascontiguousarray(answer).data)
            labels.append(one.label)
            first.setdefault(one.label, one.where)
    shape = [len(labels), view.channels, view.side, view.side]
    told = {"shape": shape, "labels": labels, "where": list(first.values()), "skipped": skipped}
    write_text(_beside(path), json.dumps(told, ensure_ascii=False))


def read_album(path: Path) -> Album:
    told = read_json(_beside(path))
    if not told["labels"]:
        raise UserError(f"no image could be read: {told['skipped'][0]}" if told["skipped"] else "there are no images")
    images = np.memmap(path, dtype=np.uint8, mode="r", shape=tuple(told["shape"]))
    return Album(images, tuple(told["labels"]), tuple(told["where"]), tuple(told["skipped"]))


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.json")
