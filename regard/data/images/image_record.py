"""An image before it is decoded, and what a source of such images offers."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from regard.data.images.image_types import ImageInput, Size

Split = Literal["train", "test"]  # of files that hold both


@dataclass(frozen=True)
class ImageRecord:
    """An image that is not decoded yet, its label, and where it comes from, for error messages."""

    where: str
    label: str
    image: ImageInput


@runtime_checkable
class ImageSource(Protocol):
    def sizes(self) -> list[Size]:
        """Of a sample of the images."""

    def __iter__(self) -> Iterator[ImageRecord]: ...


def image_name(image: ImageInput, number: int) -> str:
    return str(image) if isinstance(image, str | Path) else f"image {number}"
