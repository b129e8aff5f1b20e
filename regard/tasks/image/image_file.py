"""An image that a user chose: the bytes of a file of bounded size that Pillow can decode."""

from dataclasses import dataclass
from pathlib import Path

from regard.core.errors import UserError
from regard.data.images.pixels import pixels
from regard.tasks.input_file import MAX_BYTES, MAX_NAME, InputFile, read_bounded


@dataclass(frozen=True)
class ImageFile(InputFile):
    pass


def image_file(name: str, data: bytes) -> ImageFile:
    """Raise a UserError unless the bytes are an image of acceptable size."""
    name = name[:MAX_NAME] or "the image"
    if len(data) > MAX_BYTES:
        raise UserError(f"{name}: larger than {MAX_BYTES:,} bytes; save it with fewer pixels")
    pixels(data, side=1, channels=1, resize="stretch", where=name)
    return ImageFile(name, data)


def read_image_file(path: Path) -> ImageFile:
    return image_file(str(path), read_bounded(path, "an image file", MAX_BYTES))
