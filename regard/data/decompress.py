"""The bytes of a file, plain or compressed (.gz, .xz, .zst). Errors name the file."""

import gzip
import io
import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from pathlib import Path

from regard.core.errors import UserError, one_line

COMPRESSED = (".gz", ".xz", ".zst")


@contextmanager
def open_decompressed(path: Path, data: bytes | None = None) -> Iterator[io.BufferedIOBase]:
    """The decompressed bytes of a file; with `data`, of a file with this name that somebody sent."""
    try:
        with _decompressed(path, data) as file:
            yield file
    except IsADirectoryError:
        raise UserError(f"{path}: is a folder; a file is needed") from None
    except (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error) as error:
        raise UserError(f"{path}: is damaged ({one_line(error)})") from None
    except OSError as error:
        if error.errno is None:  # pyarrow reports a decompression failure this way
            raise UserError(f"{path}: is damaged ({one_line(error)})") from None
        raise UserError(f"{path}: cannot be read ({error.strerror}){_similar_name(path)}") from None


def _similar_name(path: Path) -> str:
    """A hint at a file in the same folder whose name is almost the same, if this one does not exist."""
    with suppress(OSError):
        if not path.exists():
            near = get_close_matches(path.name, [other.name for other in path.parent.iterdir()], n=1, cutoff=0.8)
            return f"; did you mean {near[0]!r}?" if near else ""
    return ""


def compression_of(path: Path) -> str:
    """The suffix that names the compression, or an empty string."""
    suffix = path.suffix.lower()
    return suffix if suffix in COMPRESSED else ""


def _decompressed(path: Path, data: bytes | None) -> io.BufferedIOBase:
    compression = compression_of(path)
    if compression == ".gz":
        return gzip.GzipFile(path) if data is None else gzip.GzipFile(fileobj=io.BytesIO(data))
    if compression == ".xz":
        return lzma.LZMAFile(path if data is None else io.BytesIO(data))
    if compression == ".zst":
        import pyarrow

        source = str(path) if data is None else io.BytesIO(data)
        return io.BufferedReader(pyarrow.input_stream(source, compression="zstd"))
    return path.open("rb") if data is None else io.BytesIO(data)
