"""A picture that a person gives: the bytes of a file, of a bounded size, and known to be an image."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from regard.core.errors import UserError
from regard.data.images.pixels import pixels

LARGEST = 32 * 2**20  # bytes of a file
LONGEST = 200  # letters of a name


@dataclass(frozen=True)
class ImageFile:
    name: str
    data: bytes

    @property
    def digest(self) -> str:
        """By which a link names it: the same picture has the same."""
        return hashlib.sha256(self.data).hexdigest()[:16]


def image_file(name: str, data: bytes) -> ImageFile:
    """Refused at once if no model could read it, whatever its size and colours."""
    name = name[:LONGEST] or "the picture"
    if len(data) > LARGEST:
        raise UserError(f"{name}: has more than {LARGEST:,} bytes; save it smaller, models read few pixels of it")
    pixels(data, side=1, channels=1, resize="stretch", where=name)
    return ImageFile(name, data)


def read_image_file(path: Path) -> ImageFile:
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)  # no more, were it endless
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); a run on images takes a picture file") from None
    return image_file(str(path), data)
