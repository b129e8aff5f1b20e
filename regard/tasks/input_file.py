"""A file that a user chose: its name and its bytes, which are named by a digest in links and requests."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from regard.core.errors import UserError

MAX_BYTES = 32 * 2**20
MAX_NAME = 200  # characters


@dataclass(frozen=True)
class InputFile:
    name: str
    data: bytes

    @property
    def digest(self) -> str:
        """Names the file in links and requests; equal bytes have equal digests."""
        return hashlib.sha256(self.data).hexdigest()[:16]


def read_bounded(path: Path, what: str, limit: int = MAX_BYTES) -> bytes:
    """The bytes of a file; of one that is too large, one more than the limit."""
    try:
        with path.open("rb") as file:
            return file.read(limit + 1)  # bounded: the path may be a device
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); this run needs {what}") from None
