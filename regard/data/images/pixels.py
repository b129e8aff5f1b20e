"""One image as pixels of the size that a model reads: grey, colour, palette, 16-bit, rotated by EXIF, any size."""

from pathlib import Path

import numpy as np

from regard.core.extras import require
from regard.data.images.image_types import ImageError, ImageInput, Resize, Size


def pixels(image: ImageInput, side: int, channels: int, resize: Resize, where: str = "") -> np.ndarray:
    """Bytes by channel, row and column. An image that already has this size is unchanged."""
    require("images", "reading images")
    from regard.data.images.pillow import decoded_pixels

    where = where or (str(image) if isinstance(image, str | Path) else "the image")
    try:
        array = decoded_pixels(image, side, channels, resize)
    except ImageError as error:
        raise ImageError(f"{where}: {error}") from None
    except OSError as error:
        reason = f"cannot be read ({error.strerror})" if error.errno else f"is damaged ({error})"
        raise ImageError(f"{where}: {reason}") from None
    except Exception as error:  # on a damaged file Pillow can raise anything
        raise ImageError(f"{where}: is damaged ({type(error).__name__}: {error})") from None
    return array[None] if array.ndim == 2 else array.transpose(2, 0, 1)


def size_of(image: Path | bytes) -> Size:
    """Read from the header of a file, without decoding it."""
    require("images", "reading images")
    from regard.data.images.pillow import header_size

    try:
        return header_size(image)
    except Exception as error:
        where = image if isinstance(image, Path) else "the image"
        raise ImageError(f"{where}: cannot be read ({error})") from None
