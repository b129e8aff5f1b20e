"""Tokens on disk: a corpus of any size, tokenised once and then memory-mapped."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from regard.core.errors import UserError, one_line
from regard.core.files import atomic_file
from regard.data.text.files import holds_documents, read_text
from regard.text import Tokenizer

GROUP = 1 << 20  # characters tokenised at a time: spread over the cores, at about 100 bytes per character


def write_tokens(files: Iterable[Path], tokenizer: Tokenizer, path: Path, columns: Sequence[str] = ()) -> None:
    """Tokenise files one after the other; an end token follows each document."""
    dtype = np.uint16 if tokenizer.vocab <= 1 << 16 else np.uint32
    with atomic_file(path) as temporary, temporary.open("wb") as out:
        out.write(np.dtype(dtype).str.ljust(8).encode())
        for file in files:
            end = [tokenizer.end] if holds_documents(file) else []
            for pieces in _groups(read_text(file, columns)):
                for tokens in tokenizer.encode(pieces):
                    out.write(np.array([*tokens, *end], dtype=dtype).tobytes())


def read_tokens(path: Path) -> np.ndarray:
    """The tokens of a file, memory-mapped."""
    try:
        with path.open("rb") as file:
            dtype = np.dtype(file.read(8).decode().strip())
        return np.memmap(path, dtype=dtype, mode="r", offset=8)
    except (OSError, TypeError, ValueError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: is not a token file ({one_line(error)})") from None


def _groups(pieces: Iterator[str]) -> Iterator[list[str]]:
    group, characters = list[str](), 0
    for piece in pieces:
        group.append(piece)
        characters += len(piece)
        if characters >= GROUP:
            yield group
            group, characters = [], 0
    if group:
        yield group
