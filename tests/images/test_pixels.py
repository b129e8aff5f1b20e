"""Images of every kind become bytes of one size, and those that cannot are named."""

import io
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from regard.data.images.pixels import ImageError, Resize, pixels, size_of

GREY = np.arange(64, dtype=np.uint8).reshape(8, 8) * 3
COLOURS = np.stack([GREY, 255 - GREY, GREY // 2], -1)


def saved(path: Path, image: Image.Image, **options: object) -> Path:
    image.save(path, **options)
    return path


@pytest.mark.parametrize("kind", ["png", "bmp", "tiff", "gif", "webp"])
def test_an_image_of_the_right_size_keeps_every_byte(kind: str, tmp_path: Path):
    options = {"lossless": True} if kind == "webp" else {}
    path = saved(tmp_path / f"a.{kind}", Image.fromarray(GREY), **options)
    assert (pixels(path, 8, 1, "crop") == GREY).all()
    assert (pixels(path, 8, 3, "crop") == GREY).all(), "grey as colour: three times the same"


def test_colours_stay_in_their_channels(tmp_path: Path):
    path = saved(tmp_path / "a.png", Image.fromarray(COLOURS))
    assert (pixels(path, 8, 3, "crop") == COLOURS.transpose(2, 0, 1)).all()
    assert (pixels(COLOURS, 8, 3, "crop") == pixels(Image.fromarray(COLOURS), 8, 3, "stretch")).all()


def test_a_palette_is_looked_up(tmp_path: Path):
    image = Image.fromarray(GREY // 100).convert("P")
    image.putpalette([10, 20, 30, 250, 240, 230])
    array = pixels(saved(tmp_path / "a.png", image), 8, 3, "crop")
    assert {tuple(array[:, y, x]) for y in range(8) for x in range(8)} == {(10, 20, 30), (250, 240, 230)}


def test_sixteen_bits_become_eight(tmp_path: Path):
    deep = np.array([[0, 256, 32768, 65535]] * 4, dtype=np.uint16)
    path = saved(tmp_path / "a.png", Image.fromarray(deep))
    assert size_of(path) == (4, 4, 1)
    for picture in (path, deep):
        assert pixels(picture, 4, 1, "crop")[0, 0].tolist() == [0, 0, 127, 255]


@pytest.mark.parametrize(("kind", "channels"), [(2, 3), (4, 2), (6, 4)])
def test_sixteen_bits_of_colour_and_of_what_shines_through(kind: int, channels: int, tmp_path: Path):
    """Pillow writes no such PNG: kind 2 is colour, 4 grey with alpha, 6 colour with alpha."""
    deep = np.random.default_rng(0).integers(0, 1 << 16, (4, 4, channels)).astype(">u2")
    if channels != 3:
        deep[..., -1] = 65535
        deep[0, 0] = 0  # nothing at all
    (tmp_path / "a.png").write_bytes(png(4, 4, 16, kind, b"".join(b"\0" + row.tobytes() for row in deep)))
    assert size_of(tmp_path / "a.png") == (4, 4, 3), "to Pillow grey with so deep an alpha is colour"
    array = pixels(tmp_path / "a.png", 4, 3, "crop").transpose(1, 2, 0)
    shades = deep[..., :1].repeat(3, -1) if kind == 4 else deep[..., :3]
    assert (array.reshape(16, 3)[1:] == (shades >> 8).reshape(16, 3)[1:]).all()
    assert (array[0, 0] == (shades[0, 0] >> 8 if channels == 3 else 255)).all(), "white shines through"


def test_what_shines_through_is_white(tmp_path: Path):
    image = Image.new("RGBA", (4, 4), (0, 0, 0, 0))
    image.putpixel((0, 0), (200, 0, 0, 255))
    array = pixels(saved(tmp_path / "a.png", image), 4, 3, "crop")
    assert array[:, 0, 0].tolist() == [200, 0, 0]
    assert (array.reshape(3, -1)[:, 1:] == 255).all()


def test_an_image_turned_by_a_camera_stands_upright(tmp_path: Path):
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by a quarter
    path = saved(tmp_path / "a.png", Image.fromarray(GREY[:4]), exif=exif)
    assert size_of(path) == (8, 4, 1)
    assert (pixels(path, 8, 1, "stretch") == pixels(np.rot90(GREY[:4], -1).copy(), 8, 1, "stretch")).all()


@pytest.mark.parametrize(("orientation", "turns"), [(6, -1), (8, 1)])
@pytest.mark.parametrize("scale", [1, 16])
def test_a_photo_turned_by_a_camera_stands_upright(orientation: int, turns: int, scale: int, tmp_path: Path):
    """A JPEG is decoded small where it is large, and turned then."""
    exif = Image.Exif()
    exif[0x0112] = orientation
    photo = Image.fromarray(np.kron(GREY[:4], np.ones((4 * scale, 4 * scale), np.uint8)))
    path = saved(tmp_path / "a.jpg", photo, exif=exif, quality=95)
    assert size_of(path) == (32 * scale, 16 * scale, 1)
    upright = np.rot90(np.asarray(Image.open(path)), turns).copy()
    array, expected = (pixels(one, 8, 1, "stretch").astype(int) for one in (path, upright))
    assert abs(array - expected).max() <= 4
    assert abs(array - pixels(np.rot90(upright, 2).copy(), 8, 1, "stretch").astype(int)).max() > 50


def test_framing_says_what_becomes_of_long_images():
    long = np.zeros((10, 30), np.uint8)
    long[:, 10:20] = 200
    assert (pixels(long, 10, 1, "crop") == 200).all(), "the middle"
    padded = pixels(long, 30, 1, "pad")[0]
    assert (padded[:9] == 0).all()
    assert (padded[12:18, 12:18] == 200).all()
    assert (pixels(long, 10, 1, "stretch")[0, :, 4:6] >= 195).all()
    assert pixels(long, 10, 1, "stretch")[0, :, 0].max() == 0


@pytest.mark.parametrize("resize", ["crop", "pad", "stretch"])
@pytest.mark.parametrize("shape", [(1, 3000), (3000, 1), (1, 1), (7, 5)])
def test_no_shape_is_too_odd(resize: Resize, shape: tuple[int, int]):
    array = pixels(np.full(shape, 100, np.uint8), 6, 1, resize)
    assert array.shape == (1, 6, 6)
    assert array.max() == 100


def test_arrays_of_fractions_bits_and_colours():
    assert (pixels(GREY / 255, 8, 1, "crop") == GREY).all()
    assert pixels(GREY > 90, 8, 1, "crop").max() == 255
    assert (pixels(GREY[:, :, None], 8, 1, "crop") == GREY).all()


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (GREY.astype(np.int64), "int64"),
        (GREY.astype(np.float32), "floats from 0 to 1"),
        (np.full((4, 4), np.nan), "floats"),
        (np.zeros((2, 3, 4, 5), np.uint8), r"\(2, 3, 4, 5\)"),
        (np.zeros((0, 4), np.uint8), r"\(0, 4\)"),
    ],
)
def test_arrays_that_are_no_images(array: np.ndarray, message: str):
    with pytest.raises(ImageError, match=message):
        pixels(array, 8, 1, "crop")


def png(across: int, down: int, bits: int, kind: int, rows: bytes) -> bytes:
    """The bytes of a file whose header says this, whatever its rows hold."""

    def chunk(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", across, down, bits, kind, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def whole(kind: str) -> bytes:
    """A file large enough that most of it is pixels."""
    noise = np.random.default_rng(0).integers(0, 255, (64, 64, 3)).astype(np.uint8)
    with io.BytesIO() as out:
        Image.fromarray(noise).save(out, kind)
        return out.getvalue()


FILES = {kind: whole(kind) for kind in ("png", "jpeg", "gif", "tiff", "webp", "bmp")}


@given(st.data())
def test_a_damaged_file_is_an_image_or_a_named_error(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject):
    """Cut short, or with bytes changed: never another exception than ours, always the name of the file."""
    kind = data.draw(st.sampled_from(sorted(FILES)))
    content = bytearray(FILES[kind])
    for _ in range(data.draw(st.integers(0, 6))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("damaged") / f"a.{kind}"
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    message = ""
    try:
        shape = pixels(path, 8, 3, "crop").shape
    except ImageError as error:
        message = str(error)
    assert message.startswith(f"{path}: ") if message else shape == (3, 8, 8)


def test_a_truncated_image_is_named(tmp_path: Path):
    (tmp_path / "a.png").write_bytes(FILES["png"][:500])
    with pytest.raises(ImageError, match=r"a\.png: is damaged \(.*truncated"):
        pixels(tmp_path / "a.png", 8, 3, "crop")


@pytest.mark.parametrize(
    ("side", "message"), [(8_000, "8,000×8,000 pixels; the limit is 50,000,000"), (60_000, "claims more pixels")]
)
def test_a_small_file_that_unpacks_to_gigabytes_is_refused(side: int, message: str, tmp_path: Path):
    (tmp_path / "bomb.png").write_bytes(png(side, side, 8, 0, bytes(1000)))
    with pytest.raises(ImageError, match=f"bomb.png: .*{message}"):
        pixels(tmp_path / "bomb.png", 8, 1, "crop")


def test_no_file_a_folder_and_fractions_are_named(tmp_path: Path):
    saved(tmp_path / "f.tiff", Image.fromarray(GREY.astype(np.float32)))
    (tmp_path / "notes.txt").write_text("hello")
    for name, message in (
        ("none.png", "No such file"),
        (".", "Is a directory"),
        ("f.tiff", "has floating-point pixels"),
        ("notes.txt", "is not an image"),
    ):
        with pytest.raises(ImageError, match=message):
            pixels(tmp_path / name, 8, 1, "crop")


@pytest.mark.parametrize("name", ["a.png", "a.eps"])
def test_formats_that_start_other_programs_are_not_opened(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Pillow decodes EPS with Ghostscript, whatever the file is called."""
    header = "%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\n"
    (tmp_path / name).write_text(header + "showpage\n")
    assert Image.open(tmp_path / name).format == "EPS", "Pillow itself would"
    started: list[object] = []
    monkeypatch.setattr("PIL.EpsImagePlugin.Ghostscript", lambda *arguments, **more: started.append(arguments))
    for image in (tmp_path / name, (tmp_path / name).read_bytes()):
        with pytest.raises(ImageError, match="is not an image of a supported format"):
            pixels(image, 8, 1, "crop")
    with pytest.raises(ImageError, match="supported format"):
        size_of(tmp_path / name)
    assert not started


@pytest.mark.parametrize("name", ["a.png", "a.jpg", "a.gif", "a.bmp", "a.tiff", "a.webp", "a.ppm", "a.pgm"])
def test_common_formats_are_opened(name: str, tmp_path: Path):
    saved(tmp_path / name, Image.fromarray(GREY))
    assert pixels(tmp_path / name, 8, 1, "crop").shape == (1, 8, 8)


def test_an_image_object_is_checked_before_it_is_decoded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("regard.data.images.pillow.MAX_PIXELS", 63)
    with pytest.raises(ImageError, match="8×8 pixels; the limit is 63"):
        pixels(Image.fromarray(GREY), 8, 1, "crop")
