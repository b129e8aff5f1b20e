"""One image as pixels of the size that a model reads: grey, colour, palette, 16 bits, turned by a camera, any size."""

import io
import threading
import warnings
from pathlib import Path
from typing import Literal

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from regard.core.errors import UserError

Picture = str | Path | bytes | Image.Image | np.ndarray  # a file or its bytes, or what other libraries hold an image in
Framing = Literal["crop", "pad", "stretch"]  # what becomes of images that are not square
Size = tuple[int, int, int]  # height, breadth, channels

MOST_PIXELS = 50_000_000  # of an image once it is decoded: more is a slip, or meant to fill the memory
SIXTEEN_BITS = 257  # 65,535 is white, as 255 is
GREY = ("1", "L", "LA", "La", "I", "I;16", "I;16L", "I;16B", "I;16N", "F")
OPENING = threading.Lock()  # filters of warnings are everybody's


class ImageError(UserError):
    """One image that cannot be read; the others can."""


def pixels(picture: Picture, side: int, channels: int, framing: Framing, where: str = "") -> np.ndarray:
    """Channels, rows, columns of bytes. An image that has just this size keeps every byte."""
    where = where or (str(picture) if isinstance(picture, str | Path) else "the image")
    try:
        image = _in_colours(ImageOps.exif_transpose(_decoded(picture, side)), channels)
        framed = np.asarray(_framed(image, side, framing))
    except ImageError as error:
        raise ImageError(f"{where}: {error}") from None
    except OSError as error:
        reason = f"cannot be read ({error.strerror})" if error.errno else f"is damaged ({error})"
        raise ImageError(f"{where}: {reason}") from None
    except Exception as error:  # a damaged file makes Pillow raise whatever it makes it raise
        raise ImageError(f"{where}: is damaged ({type(error).__name__}: {error})") from None
    return framed[None] if framed.ndim == 2 else framed.transpose(2, 0, 1)


def size_of(path: Path) -> Size:
    """Known from the first bytes of a file, without decoding it."""
    try:
        with _opened(path) as image:
            across, down = image.size
            turned = image.getexif().get(0x0112, 1) >= 5
            return (*((across, down) if turned else (down, across)), 1 if image.mode in GREY else 3)
    except Exception as error:
        raise ImageError(f"{path}: cannot be read ({error})") from None


def _decoded(picture: Picture, side: int) -> Image.Image:
    if isinstance(picture, Image.Image):
        return picture
    if isinstance(picture, np.ndarray):
        return _from_array(picture)
    with _opened(io.BytesIO(picture) if isinstance(picture, bytes) else Path(picture)) as image:
        image.draft(None, (2 * side, 2 * side))  # a JPEG can be decoded small at once
        across, down = image.size
        if across * down > MOST_PIXELS:
            raise ImageError(f"has {across:,}×{down:,} pixels; {MOST_PIXELS:,} are read at most")
        image.load()
        return image


def _opened(file: Path | io.BytesIO) -> Image.Image:
    try:
        with OPENING, warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # we count for ourselves
            return Image.open(file)
    except Image.DecompressionBombError:
        raise ImageError(f"claims more pixels than could be meant; {MOST_PIXELS:,} are read at most") from None
    except UnidentifiedImageError:
        raise ImageError("is no image that can be read") from None


def _in_colours(image: Image.Image, channels: int) -> Image.Image:
    if image.mode.startswith("I"):
        image = Image.fromarray((np.asarray(image).clip(0, 65535) // SIXTEEN_BITS).astype(np.uint8))
    elif image.mode == "F":
        raise ImageError("holds fractions instead of 8 or 16 bits a pixel; save it with one of these")
    elif image.has_transparency_data:  # what shines through is white, as on paper
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    return image.convert("L" if channels == 1 else "RGB")


def _framed(image: Image.Image, side: int, framing: Framing) -> Image.Image:
    size = side, side
    if framing == "crop":
        return ImageOps.fit(image, size, Image.Resampling.BICUBIC)
    if framing == "pad":
        scale = side / max(image.size)
        small = image.resize([max(1, round(scale * length)) for length in image.size], Image.Resampling.BICUBIC)
        whole = Image.new(image.mode, size)
        whole.paste(small, ((side - small.width) // 2, (side - small.height) // 2))
        return whole
    return image.resize(size, Image.Resampling.BICUBIC)


def _from_array(array: np.ndarray) -> Image.Image:
    """Rows, columns and, where there are colours, channels last."""
    if array.ndim == 3 and array.shape[2] == 1:
        array = array[:, :, 0]
    if not (array.ndim == 2 or (array.ndim == 3 and array.shape[2] in (3, 4))) or 0 in array.shape:
        raise ImageError(f"an array of shape {array.shape} is no image; rows × columns, or × 3 channels, is one")
    if array.size > 4 * MOST_PIXELS:
        raise ImageError(f"has {array.size:,} values; {4 * MOST_PIXELS:,} are read at most")
    return Image.fromarray(_bytes(array))


def _bytes(array: np.ndarray) -> np.ndarray:
    if array.dtype == np.uint8:
        return array
    if array.dtype == np.uint16:
        return (array // SIXTEEN_BITS).astype(np.uint8)
    if array.dtype == np.bool_:
        return array.astype(np.uint8) * 255
    if array.dtype.kind == "f" and array.min() >= 0 and array.max() <= 1:
        return np.round(array * 255).astype(np.uint8)
    raise ImageError(f"an array of {array.dtype} must be uint8, uint16, or fractions from 0 to 1")
