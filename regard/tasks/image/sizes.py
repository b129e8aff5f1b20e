"""Sizes that follow from the images where nobody chooses them: side, channels and patch of a Vision Transformer."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from regard.core.errors import ConfigError, UserError
from regard.data.images.image_files import find_images
from regard.data.images.image_record import ImageSource, Split
from regard.data.images.image_types import Size
from regard.models import ViT

MAX_SIDE = 64  # pixels along a side, unless set
PATCHES = 8  # along a side, about
MAX_PATCH = 16


@dataclass(frozen=True)
class Sources:
    """Several folders or files of images as one."""

    names: Sequence[str]
    split: Split
    columns: tuple[str, ...] = ()  # of data sets

    def each(self) -> list[ImageSource]:
        return [find_images(Path(name), self.split, self.columns) for name in self.names]

    def sizes(self) -> list[Size]:
        sizes = [size for source in self.each() for size in source.sizes()]
        if not sizes:
            raise UserError(f"{', '.join(self.names)}: none of the files can be read as an image")
        return sizes


def with_sizes(model: ViT, sizes: Sequence[Size]) -> ViT:
    """The model with the sizes that suit these images, where none are set."""
    channels = model.channels or max(size[2] for size in sizes)
    usual = min(MAX_SIDE, round(statistics.median(min(size[:2]) for size in sizes)))
    side, shrink = model.image or usual, model.stem.shrink
    patch = model.patch or _patch(side, shrink, must_divide=bool(model.image))
    return replace(model, image=-(-side // patch) * patch, patch=patch, channels=channels)


def _patch(side: int, shrink: int, *, must_divide: bool) -> int:
    """The patch size that gives about eight patches along a side."""
    sizes = [n for n in range(shrink, MAX_PATCH + 1, shrink) if not must_divide or side % n == 0]
    if not sizes:
        raise ConfigError(f"model.image: {side} is not divisible by {shrink}, by which the stem shrinks")
    return min(sizes, key=lambda size: abs(size - side / PATCHES))
