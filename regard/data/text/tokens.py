"""Tokens on disk: a corpus of any size, tokenised once and then memory-mapped."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import torch

from regard.core.errors import UserError, one_line
from regard.core.files import atomic_file
from regard.core.machine import seed_for
from regard.data.text.lines import Piece
from regard.text import Tokenizer

GROUP = 1 << 20  # characters tokenised at a time: spread over the cores, at about 100 bytes per character
MANY_DOCUMENTS = 20  # from this many on, whole documents are held out


def write_tokens(pieces: Iterable[Piece], tokenizer: Tokenizer, path: Path) -> int:
    """Tokenise a text; an end token follows each document that is not empty. Returns the bytes of the text."""
    dtype = np.uint16 if tokenizer.vocab <= 1 << 16 else np.uint32
    count, is_open = 0, False
    with atomic_file(path) as temporary, temporary.open("wb") as out:
        out.write(_header(dtype))
        for group in _groups(pieces):
            count += sum(len(piece.text.encode()) for piece in group)
            for tokens, piece in zip(tokenizer.encode([piece.text for piece in group]), group, strict=True):
                is_open = is_open or bool(tokens)
                end = [tokenizer.end] if piece.ends and is_open else []
                out.write(np.array([*tokens, *end], dtype=dtype).tobytes())
                is_open = is_open and not piece.ends
    return count


def read_tokens(path: Path) -> np.ndarray:
    """The tokens of a file, memory-mapped."""
    try:
        with path.open("rb") as file:
            dtype = np.dtype(file.read(8).decode().strip())
        return np.memmap(path, dtype=dtype, mode="r", offset=8)
    except (OSError, TypeError, ValueError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: is not a token file ({one_line(error)})") from None


def hold_out_documents(train: Path, valid: Path, end: int, fraction: float) -> None:
    """Move documents, drawn at random, from one token file to another; nothing happens where they are few.

    The last ones in order would be a poor sample: the files of a folder are sorted by name.
    """
    tokens = read_tokens(train)
    documents = np.split(tokens, np.flatnonzero(tokens == end) + 1)
    documents = [document for document in documents if len(document)]
    if len(documents) < MANY_DOCUMENTS:
        return
    order = torch.randperm(len(documents), generator=torch.Generator().manual_seed(seed_for("held out"))).tolist()
    read = np.cumsum([len(documents[number]) for number in order])
    count = int(np.searchsorted(read, fraction * len(tokens))) + 1
    held_out = set(order[: min(count, len(documents) - 1)])
    for path, chosen in ((valid, True), (train, False)):
        with atomic_file(path) as temporary, temporary.open("wb") as out:
            out.write(_header(tokens.dtype))
            for number, document in enumerate(documents):
                if (number in held_out) == chosen:
                    out.write(document.tobytes())


def _header(dtype: np.typing.DTypeLike) -> bytes:
    return np.dtype(dtype).str.ljust(8).encode()


def _groups(pieces: Iterable[Piece]) -> Iterator[list[Piece]]:
    group, characters = list[Piece](), 0
    for piece in pieces:
        group.append(piece)
        characters += len(piece.text)
        if characters >= GROUP:
            yield group
            group, characters = [], 0
    if group:
        yield group
