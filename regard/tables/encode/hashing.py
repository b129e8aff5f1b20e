"""Which words, pairs of words and pieces of words a text holds, hashed into buckets (Weinberger et al., 2009).

No vocabulary is kept, so any script, any language and any number of texts take the same memory. Everything is computed
for many texts at once. Only numpy is needed: the file is also copied beside exported classifiers.
"""

import unicodedata
from collections.abc import Sequence

import numpy as np

MAX_CHARACTERS = 2000  # of a text that are read
PIECES = (3, 4, 5)  # characters of a piece of a word; the space before and after a word counts

_PRIME = np.uint64(0x100000001B3)
_MIX = np.uint64(0x9E3779B97F4A7C15)
_SPACE = ord(" ")


def normalise(text: str, max_characters: int = MAX_CHARACTERS) -> str:
    """The text as it is compared: its first characters, composed and without case."""
    return unicodedata.normalize("NFC", text[:max_characters].casefold())


def ngram_buckets(texts: Sequence[str], bits: int) -> tuple[np.ndarray, np.ndarray]:
    """The number of the text and the bucket of every n-gram: 2**bits buckets of pieces, then as many of words."""
    letters = np.frombuffer("".join(f" {text} " for text in texts).encode("utf-32-le", "surrogatepass"), np.uint32)
    row = np.repeat(np.arange(len(texts)), [len(text) + 2 for text in texts])
    space, word = _character_kinds(letters)
    letters = np.where(space, _SPACE, letters).astype(np.uint64)
    hashes, rows = zip(*_pieces(letters, row, space), strict=True)
    words, word_rows = _word_ngrams(letters, row, space, word)
    buckets = np.concatenate([_bucket(np.concatenate(hashes), bits), (1 << bits) + _bucket(words, bits)])
    return np.concatenate([*rows, word_rows]), buckets


def _character_kinds(letters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which characters are space, and which belong to words: letters, marks and digits of any script."""
    distinct, place = np.unique(letters, return_inverse=True)
    kinds = [unicodedata.category(chr(code)) for code in distinct.tolist()]
    space = np.array([kind[0] in "ZC" for kind in kinds], dtype=bool)
    word = np.array([kind[0] in "LMN" for kind in kinds], dtype=bool)
    return space[place], word[place]


def _pieces(letters: np.ndarray, row: np.ndarray, space: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Runs of a few characters with no space in them, except at their ends."""
    pieces = []
    for size in PIECES:
        count = max(0, len(letters) - size + 1)
        hashes = np.full(count, size, dtype=np.uint64)
        whole = np.ones(count, dtype=bool)
        for place in range(size):
            hashes = hashes * _PRIME + letters[place : place + count]
            if 0 < place < size - 1:
                whole &= ~space[place : place + count]
        pieces.append((hashes[whole], row[:count][whole]))
    return pieces


def _word_ngrams(
    letters: np.ndarray, row: np.ndarray, space: np.ndarray, word: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Words and pairs of adjacent words; every other sign is a word of its own."""
    joined = word[1:] & word[:-1]  # with the character before
    begins = np.flatnonzero(~space & np.concatenate([[True], ~joined]))
    if not len(begins):
        return np.empty(0, np.uint64), np.empty(0, np.int64)
    number = np.cumsum(np.bincount(begins, minlength=len(letters))) - 1
    place = np.arange(len(letters)) - begins[np.maximum(number, 0)]
    each = np.where(space, np.uint64(0), _mix(letters * _PRIME + place.astype(np.uint64)))
    words, rows = np.add.reduceat(each, begins), row[begins]
    adjacent = rows[1:] == rows[:-1]
    pairs = _mix(words[:-1][adjacent]) + words[1:][adjacent]
    return np.concatenate([words, pairs]), np.concatenate([rows, rows[1:][adjacent]])


def _mix(hashes: np.ndarray) -> np.ndarray:
    mixed = (hashes ^ (hashes >> np.uint64(31))) * _MIX
    return mixed ^ (mixed >> np.uint64(29))


def _bucket(hashes: np.ndarray, bits: int) -> np.ndarray:
    return (_mix(hashes) * _MIX >> np.uint64(64 - bits)).astype(np.int64)
