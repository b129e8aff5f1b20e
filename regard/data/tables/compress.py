"""Files that are compressed while they are written (.gz, .xz, .zst)."""

import gzip
import lzma
from pathlib import Path
from typing import Any

import pyarrow


def open_compressed(path: Path, compression: str) -> Any:
    """A binary file to write to, compressed as the suffix `compression` says."""
    if compression == ".gz":
        return gzip.GzipFile(path, "wb", mtime=0)
    if compression == ".xz":
        return lzma.open(path, "wb")
    if compression == ".zst":
        return pyarrow.CompressedOutputStream(str(path), "zstd")
    return path.open("wb")
