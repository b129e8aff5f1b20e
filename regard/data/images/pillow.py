"""Images with Pillow: decode, convert to grey or RGB, make square. Needs the extra `regard[images]`."""

import io
import threading
import warnings
from functools import cache
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from regard.data.images.image_types import MAX_PIXELS, ImageError, ImageInput, Resize, Size

# Pillow also knows formats that start other programs: Ghostscript for EPS. Only these are opened.
FORMATS = ("PNG", "JPEG", "MPO", "GIF", "BMP", "DIB", "TIFF", "WEBP", "PPM", "JPEG2000", "AVIF", "ICO", "TGA")
SIXTEEN_BITS = 257  # 65,535 is white, as 255 is
GREY = ("1", "L", "LA", "La", "I", "I;16", "I;16L", "I;16B", "I;16N", "F")
OPENING = threading.Lock()  # warning filters are global


def decoded_pixels(image: ImageInput, side: int, channels: int, resize: Resize) -> np.ndarray:
    """Bytes by row, column and, for colour images, channel."""
    decoded = _with_channels(ImageOps.exif_transpose(_decoded(image, side)), channels)
    return np.asarray(_resized(decoded, side, resize))


def header_size(file: Path | bytes) -> Size:
    """Read from the header of a file, without decoding it."""
    with _opened(io.BytesIO(file) if isinstance(file, bytes) else file) as image:
        width, height = image.size
        rotated = image.getexif().get(0x0112, 1) >= 5
        return (*((width, height) if rotated else (height, width)), 1 if image.mode in GREY else 3)


def _decoded(image: ImageInput, side: int) -> Image.Image:
    if isinstance(image, np.ndarray):
        return _from_array(image)
    if isinstance(image, Image.Image):
        _check_pixels(image)
        return image
    if not isinstance(image, str | Path | bytes):
        raise ImageError(f"a {type(image).__name__} is not an image of Pillow")
    with _opened(io.BytesIO(image) if isinstance(image, bytes) else Path(image)) as opened:
        opened.draft(None, (2 * side, 2 * side))  # a JPEG can be decoded at a reduced size
        _check_pixels(opened)
        opened.load()
        return opened


def _check_pixels(image: Image.Image) -> None:
    """Before decoding, when only the header has been read."""
    width, height = image.size
    if width * height > MAX_PIXELS:
        raise ImageError(f"has {width:,}×{height:,} pixels; the limit is {MAX_PIXELS:,}")


def _opened(file: Path | io.BytesIO) -> Image.Image:
    try:
        with OPENING, warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # MAX_PIXELS is lower and an error
            return Image.open(file, formats=_known_formats())
    except Image.DecompressionBombError:
        raise ImageError(f"claims more pixels than the limit of {MAX_PIXELS:,}") from None
    except UnidentifiedImageError:
        raise ImageError("is not an image of a supported format (PNG, JPEG, GIF, BMP, TIFF, WebP, PPM …)") from None


@cache
def _known_formats() -> list[str]:
    """Those that this build of Pillow can read."""
    Image.init()
    return [name for name in FORMATS if name in Image.OPEN]


def _with_channels(image: Image.Image, channels: int) -> Image.Image:
    if image.mode.startswith("I"):
        image = Image.fromarray((np.asarray(image).clip(0, 65535) // SIXTEEN_BITS).astype(np.uint8))
    elif image.mode == "F":
        raise ImageError("has floating-point pixels; save it with 8 or 16 bits per pixel")
    elif image.has_transparency_data:  # transparent pixels become white
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    return image.convert("L" if channels == 1 else "RGB")


def _resized(image: Image.Image, side: int, resize: Resize) -> Image.Image:
    size = side, side
    if resize == "crop":
        return ImageOps.fit(image, size, Image.Resampling.BICUBIC)
    if resize == "pad":
        scale = side / max(image.size)
        small = image.resize([max(1, round(scale * length)) for length in image.size], Image.Resampling.BICUBIC)
        canvas = Image.new(image.mode, size)
        canvas.paste(small, ((side - small.width) // 2, (side - small.height) // 2))
        return canvas
    return image.resize(size, Image.Resampling.BICUBIC)


def _from_array(array: np.ndarray) -> Image.Image:
    """Rows, columns and, for colour images, channels last."""
    if array.ndim == 3 and array.shape[2] == 1:
        array = array[:, :, 0]
    if not (array.ndim == 2 or (array.ndim == 3 and array.shape[2] in (3, 4))) or 0 in array.shape:
        raise ImageError(f"an array of shape {array.shape} is not an image; the shape is (height, width[, channels])")
    if array.size > 4 * MAX_PIXELS:
        raise ImageError(f"has {array.size:,} values; the limit is {4 * MAX_PIXELS:,}")
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
    raise ImageError(f"an array of {array.dtype} must be uint8, uint16, or floats from 0 to 1")
