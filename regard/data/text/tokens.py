"""Tokens on disk: a corpus of any size, encoded once and then mapped into memory as it is needed."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from regard.core.errors import UserError
from regard.core.files import replacing
from regard.data.text.files import holds_documents, read_text
from regard.text import Tokenizer

TOGETHER = 1 << 20  # characters encoded at a time: the tokenizer spreads them over the cores, at 100 bytes for each


def write_tokens(files: Iterable[Path], tokenizer: Tokenizer, path: Path, columns: Sequence[str] = ()) -> None:
    """Encode files one after the other; a document ends with the end token."""
    kind = np.uint16 if tokenizer.vocab <= 1 << 16 else np.uint32
    with replacing(path) as temporary, temporary.open("wb") as out:
        out.write(np.dtype(kind).str.ljust(8).encode())
        for file in files:
            end = [tokenizer.end] if holds_documents(file) else []
            for pieces in _several(read_text(file, columns)):
                for tokens in tokenizer.encode(pieces):
                    out.write(np.array([*tokens, *end], dtype=kind).tobytes())


def read_tokens(path: Path) -> np.ndarray:
    """The tokens of a file, mapped: pages are read when they are touched."""
    try:
        with path.open("rb") as file:
            kind = np.dtype(file.read(8).decode().strip())
        return np.memmap(path, dtype=kind, mode="r", offset=8)
    except (OSError, TypeError, ValueError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: holds no tokens ({error})") from None


def _several(pieces: Iterator[str]) -> Iterator[list[str]]:
    together, characters = list[str](), 0
    for piece in pieces:
        together.append(piece)
        characters += len(piece)
        if characters >= TOGETHER:
            yield together
            together, characters = [], 0
    if together:
        yield together
