"""The types of images that are read, and the error of one that cannot be; no library of images is imported."""

from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np

from regard.core.errors import UserError

MAX_PIXELS = 50_000_000  # of a decoded image: more is a mistake or a decompression bomb


@runtime_checkable
class PillowImage(Protocol):
    """A `PIL.Image.Image`, as far as it tells one apart."""

    @property
    def size(self) -> tuple[int, int]: ...

    def convert(self, mode: str) -> Any: ...

    def getexif(self) -> Any: ...


ImageInput = str | Path | bytes | PillowImage | np.ndarray  # a file, its bytes, or an image of another library
Resize = Literal["crop", "pad", "stretch"]  # how an image that is not square becomes square
Size = tuple[int, int, int]  # height, width, channels


class ImageError(UserError):
    """One image cannot be read; the others can."""
