"""Small images that tests draw themselves: a bright bar, upright or lying, on dark noise."""

import gzip
from pathlib import Path

import numpy as np
from PIL import Image

LABELS = ("lying", "upright")


def bars(count: int, side: int = 12, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Images as bytes, and the numbers of their labels."""
    dice = np.random.default_rng(seed)
    images = dice.integers(0, 60, (count, side, side)).astype(np.uint8)
    labels = np.arange(count) % 2
    for image, label in zip(images, labels, strict=True):
        place = int(dice.integers(1, side - 2))
        if label:
            image[:, place : place + 2] = 230
        else:
            image[place : place + 2] = 230
    return images, labels


def write_classes(folder: Path, count: int, side: int = 12, seed: int = 0) -> Path:
    """A sub-folder for each class."""
    for number, (image, label) in enumerate(zip(*bars(count, side, seed), strict=True)):
        place = folder / LABELS[label]
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(place / f"{number:03d}.png")
    return folder


def write_idx(folder: Path, part: str, images: np.ndarray, labels: np.ndarray, packed: bool = True) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for what, array in (("images-idx3", images), ("labels-idx1", labels)):
        header = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes()
        data = header + array.astype(np.uint8).tobytes()
        path = folder / f"{part}-{what}-ubyte{'.gz' if packed else ''}"
        path.write_bytes(gzip.compress(data) if packed else data)
