"""An image that a user chose: the bytes of a file of bounded size that Pillow can decode."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from regard.core.errors import UserError
from regard.data.images.pixels import pixels

MAX_BYTES = 32 * 2**20
MAX_NAME = 200  # characters


@dataclass(frozen=True)
class ImageFile:
    name: str
    data: bytes

    @property
    def digest(self) -> str:
        """Names the image in links and requests; equal bytes have equal digests."""
        return hashlib.sha256(self.data).hexdigest()[:16]


def image_file(name: str, data: bytes) -> ImageFile:
    """Raise a UserError unless the bytes are an image of acceptable size."""
    name = name[:MAX_NAME] or "the image"
    if len(data) > MAX_BYTES:
        raise UserError(f"{name}: larger than {MAX_BYTES:,} bytes; save it with fewer pixels")
    pixels(data, side=1, channels=1, resize="stretch", where=name)
    return ImageFile(name, data)


def read_image_file(path: Path) -> ImageFile:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)  # bounded: the path may be a device
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); this run needs an image file") from None
    return image_file(str(path), data)
