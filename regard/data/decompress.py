"""The bytes of a file, plain or packed with .gz, .xz or .zst. One that is missing or damaged is named."""

import gzip
import io
import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from pathlib import Path

from regard.core.errors import UserError

PACKED = (".gz", ".xz", ".zst")


@contextmanager
def opened(path: Path) -> Iterator[io.BufferedIOBase]:
    """The unpacked bytes of a file; a damaged or missing one is named."""
    try:
        with _unpacked(path) as file:
            yield file
    except IsADirectoryError:
        raise UserError(f"{path}: is a folder; a file is needed") from None
    except (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error) as error:
        raise UserError(f"{path}: is damaged ({error})") from None
    except OSError as error:
        if error.errno is None:  # pyarrow's way to say that it cannot unpack
            raise UserError(f"{path}: is damaged ({error})") from None
        raise UserError(f"{path}: cannot be read ({error.strerror}){_neighbour(path)}") from None


def _neighbour(path: Path) -> str:
    """The file beside it whose name is nearly the same, if this one is absent."""
    with suppress(OSError):
        if not path.exists():
            near = get_close_matches(path.name, [other.name for other in path.parent.iterdir()], n=1, cutoff=0.8)
            return f"; did you mean {near[0]!r}?" if near else ""
    return ""


def packing_of(path: Path) -> str:
    """The suffix that says how it is packed, or nothing."""
    suffix = path.suffix.lower()
    return suffix if suffix in PACKED else ""


def _unpacked(path: Path) -> io.BufferedIOBase:
    packing = packing_of(path)
    if packing == ".gz":
        return gzip.GzipFile(path)
    if packing == ".xz":
        return lzma.LZMAFile(path)
    if packing == ".zst":
        import pyarrow

        return io.BufferedReader(pyarrow.input_stream(str(path), compression="zstd"))
    return path.open("rb")
