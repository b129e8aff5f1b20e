"""Labelled images as people have them."""

import json
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from rich.console import Console

from regard.core.errors import UserError
from regard.data.images import image_cache
from regard.data.images.image_cache import ImageFormat, read_image_cache, write_image_cache
from regard.data.images.image_files import find_images
from regard.data.images.image_record import ImageRecord
from regard.data.images.pixels import pixels
from regard.data.progress import progress
from tests.images.make import LABELS, bars, write_classes, write_idx

IMAGES, NUMBERS = bars(10)


def contents(path: Path, part: str = "train") -> list[tuple[str, bytes]]:
    place = path.parent / f"{path.name}.cache"
    write_image_cache(find_images(path, part), place, ImageFormat(12, 1))  # type: ignore[arg-type]
    cache = read_image_cache(place)
    return sorted((label, image.tobytes()) for label, image in zip(cache.labels, cache.images, strict=True))


def expected(names: tuple[str, ...]) -> list[tuple[str, bytes]]:
    return sorted((names[label], image.tobytes()) for image, label in zip(IMAGES, NUMBERS, strict=True))


def test_all_four_ways_hold_the_same(tmp_path: Path):
    folder = write_classes(tmp_path / "classes", 10)
    assert contents(folder) == expected(LABELS)
    write_idx(tmp_path / "packed", "train", IMAGES, NUMBERS)
    write_idx(tmp_path / "plain", "train", IMAGES, NUMBERS, packed=False)
    np.savez(tmp_path / "a.npz", images=IMAGES, labels=NUMBERS)
    np.savez_compressed(tmp_path / "b.npz", x_train=IMAGES[..., None], y_train=NUMBERS[:, None])
    for name in ("packed", "plain", "a.npz", "b.npz"):
        assert contents(tmp_path / name) == expected(("0", "1")), name
    files = sorted(folder.rglob("*.png"))
    rows = "".join(f"{file.parent.name},{file.relative_to(tmp_path)}\n" for file in files)
    (tmp_path / "list.csv").write_text("label,path\n" + rows)
    assert contents(tmp_path / "list.csv") == expected(LABELS)
    rows = "".join(json.dumps({"path": str(file), "label": file.parent.name}) + "\n" for file in files)
    (tmp_path / "list.jsonl").write_text(rows)
    assert contents(tmp_path / "list.jsonl") == expected(LABELS)


def test_files_of_two_parts_are_told_apart(tmp_path: Path):
    write_idx(tmp_path / "idx", "train", IMAGES, NUMBERS)
    write_idx(tmp_path / "idx", "t10k", 255 - IMAGES[:4], NUMBERS[:4])
    np.savez(tmp_path / "both.npz", x_train=IMAGES, y_train=NUMBERS, x_test=255 - IMAGES[:4], y_test=NUMBERS[:4])
    for name in ("idx", "both.npz"):
        train, test = contents(tmp_path / name, "train"), contents(tmp_path / name, "test")
        assert (len(train), len(test)) == (10, 4)
        assert not set(train) & set(test)


def test_images_to_train_on_do_not_measure(tmp_path: Path):
    write_idx(tmp_path / "idx", "train", IMAGES, NUMBERS)
    with pytest.raises(UserError, match="has no idx files to test on"):
        find_images(tmp_path / "idx", "test")


def test_what_cannot_be_read_is_named_and_stops_nothing_else(tmp_path: Path):
    folder = write_classes(tmp_path / "classes", 10)
    file = folder / "lying" / "000.png"
    file.write_bytes(file.read_bytes()[:-30])
    (folder / "lying" / "notes.txt").write_text("not an image")
    (folder / "lying" / ".hidden").write_text("not even told")
    (folder / "upright" / "deeper").mkdir()
    (folder / "upright" / "001.png").rename(folder / "upright" / "deeper" / "001.png")
    write_image_cache(find_images(folder, "train"), tmp_path / "cache", ImageFormat(12, 1))
    cache = read_image_cache(tmp_path / "cache")
    assert len(cache.labels) == 9
    assert [line.split(": ")[0] for line in cache.skipped] == [str(file), str(folder / "lying" / "notes.txt")]
    assert isinstance(cache.images, np.memmap), "on disk, not in memory"


def test_sizes_are_known_without_decoding(tmp_path: Path):
    for number, size in enumerate([(40, 30), (50, 20)]):
        (tmp_path / "c" / str(number)).mkdir(parents=True)
        Image.new("RGB", size).save(tmp_path / "c" / str(number) / "a.jpg")
    assert sorted(find_images(tmp_path / "c", "train").sizes()) == [(20, 50, 3), (30, 40, 3)]
    np.savez(tmp_path / "a.npz", images=np.zeros((2, 5, 6, 3), np.uint8), labels=[0, 1])
    assert find_images(tmp_path / "a.npz", "train").sizes() == [(5, 6, 3)]


def broken(tmp_path: Path, how: str) -> Path:
    path = tmp_path / how
    match how:
        case "empty":
            path.mkdir()
        case "flat":
            path.mkdir()
            Image.fromarray(IMAGES[0]).save(path / "a.png")
        case "parts":
            write_classes(path / "train", 4)
            write_classes(path / "test", 4)
        case "counts.npz":
            np.savez(path, images=IMAGES, labels=NUMBERS[:3])
        case "names.npz":
            np.savez(path, pictures=IMAGES, labels=NUMBERS)
        case "objects.npz":
            np.savez(path, images=np.array([{}, {}], dtype=object), labels=[0, 1])
        case "object-labels.npz":
            np.savez(path, images=IMAGES, labels=np.array([{}] * 10, dtype=object))
        case "cut.npz":
            np.savez(path, images=IMAGES, labels=NUMBERS)
            path.write_bytes(path.read_bytes()[:900])
        case "flipped.npz" | "locked.npz" | "method.npz":
            np.savez_compressed(path, images=IMAGES, labels=NUMBERS)
            data = bytearray(path.read_bytes())
            entry = data.index(b"PK\1\2")  # of the directory: flags stand at 8, the method of packing at 10
            place = {"flipped.npz": 200, "locked.npz": entry + 8, "method.npz": entry + 10}[how]
            data[place] ^= 1 if how == "locked.npz" else 0x61
            path.write_bytes(data)
        case "huge.npz":
            with zipfile.ZipFile(path, "w") as file:
                for name, shape in (("images", (1, 10**6, 10**6)), ("labels", (1,))):
                    with file.open(f"{name}.npy", "w") as array:
                        header = {"descr": "|u1", "fortran_order": False, "shape": shape}
                        np.lib.format.write_array_header_1_0(array, header)
        case "huge-idx":
            write_idx(path, "train", IMAGES[:1], NUMBERS[:1], packed=False)
            header = bytes([0, 0, 8, 3]) + np.array([1, 10**6, 10**6], ">u4").tobytes()
            (path / "train-images-idx3-ubyte").write_bytes(header)
        case "shape.npz":
            np.savez(path, images=np.zeros((4, 3, 12, 12), np.uint8), labels=[0, 1, 0, 1])
        case "cut-idx" | "no-labels" | "other-idx":
            write_idx(path, "train", IMAGES, NUMBERS, packed=False)
            images, labels = path / "train-images-idx3-ubyte", path / "train-labels-idx1-ubyte"
            if how == "cut-idx":
                images.write_bytes(images.read_bytes()[:-1])
            elif how == "no-labels":
                labels.unlink()
            else:
                images.write_bytes(b"\0\0\x0d\x03" + images.read_bytes()[4:])
        case "one.png":
            Image.fromarray(IMAGES[0]).save(path)
        case "columns.csv":
            path.write_text("file,kind,more\na.png,x,y\n")
        case "missing":
            pass
    return path


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("missing", "there is no such file or folder"),
        ("empty", "each class needs a subfolder"),
        ("flat", "each class needs a subfolder"),
        ("parts", "holds test, train, which are splits, not classes; give one of them, such as .*/train"),
        ("counts.npz", "has 3 labels for 10 images"),
        ("names.npz", "holds labels, pictures; its arrays should be named images and labels"),
        ("objects.npz", "not Python objects"),
        ("object-labels.npz", "not Python objects"),
        ("cut.npz", "is not an .npz file"),
        ("flipped.npz", "is damaged"),
        ("locked.npz", "cannot be decompressed .*encrypted"),
        ("method.npz", "cannot be decompressed .*compression"),
        ("huge.npz", "1,000,000×1,000,000 pixels"),
        ("huge-idx", "1,000,000×1,000,000 pixels"),
        ("shape.npz", r"its images have shape \(3, 12, 12\)"),
        ("cut-idx", "ends too early"),
        ("no-labels", "1 files of train images and 0 of their labels"),
        ("other-idx", "is not an idx file of bytes"),
        ("one.png", "is neither a folder"),
        ("columns.csv", "has no column 'path'"),
    ],
)
def test_sources_that_cannot_be_meant_are_named(how: str, message: str, tmp_path: Path):
    path = broken(tmp_path, how)

    def read() -> None:
        source = find_images(path, "train")
        source.sizes()
        list(source)

    with pytest.raises(UserError, match=message) as error:
        read()
    assert str(path) in str(error.value)


def test_large_arrays_wait_for_their_turn_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """However many there are, few are held: the file is six times as large as all that is in memory at once."""
    images = np.random.default_rng(0).integers(0, 255, (24, 500, 500)).astype(np.uint8)
    write_idx(tmp_path / "idx", "train", images, np.arange(24) % 2, packed=False)
    np.savez(tmp_path / "a.npz", images=images, labels=np.arange(24) % 2)
    monkeypatch.setattr(image_cache, "GROUP_BYTES", 500_000)
    for name in ("idx", "a.npz"):
        tracemalloc.start()
        write_image_cache(find_images(tmp_path / name, "train"), tmp_path / "cache", ImageFormat(8, 1))
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert most < images.nbytes / 3, name
        kept = read_image_cache(tmp_path / "cache")
        assert len(kept.labels) == 24
        assert (kept.images[23] == pixels(images[23], 8, 1, "crop")).all(), "in their order"


@pytest.mark.parametrize("count", [0, 1, 255, 256, 257])
def test_every_image_is_in_one_group(count: int):
    records = [ImageRecord(str(number), "a", Path("a.png")) for number in range(count)]
    groups = list(image_cache._groups(records))
    assert [one for group in groups for one in group] == records
    assert max(map(len, groups)) <= image_cache.GROUP


@pytest.mark.parametrize("terminal", [True, False])
def test_long_reading_is_counted(terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(Console, "is_terminal", property(lambda _: terminal))
    assert list(progress(iter("abc"), "images decoded")) == ["a", "b", "c"]
    assert "decoded: " not in capsys.readouterr().err, "a moment is not worth a number"
    monkeypatch.setattr("regard.data.progress.TERMINAL_SECONDS", 0)
    monkeypatch.setattr("regard.data.progress.LOG_SECONDS", 0)
    assert list(progress(range(1_001), "images decoded"))[-1] == 1_000
    errors = capsys.readouterr().err
    assert "images decoded" in errors
    assert terminal or errors.splitlines()[-1] == "images decoded: 1,001"


def test_nothing_readable_at_all_is_told(tmp_path: Path):
    (tmp_path / "c" / "a").mkdir(parents=True)
    (tmp_path / "c" / "a" / "x.png").write_text("no")
    write_image_cache(find_images(tmp_path / "c", "train"), tmp_path / "cache", ImageFormat(12, 1))
    with pytest.raises(UserError, match=r"no image could be read: .*x\.png: is not an image"):
        read_image_cache(tmp_path / "cache")
