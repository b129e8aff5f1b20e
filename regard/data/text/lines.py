"""Plain UTF-8 text, read as a stream: line by line, or as running text in pieces that end between two words."""

import codecs
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from regard.core.errors import UserError
from regard.data.decompress import open_decompressed

log = logging.getLogger(__name__)
CHUNK = 1 << 18  # bytes read at a time
MAX_PIECE = 1 << 20  # characters kept while looking for a word boundary; then the text is cut anywhere


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Numbered lines without line ends and without a byte-order mark."""
    with open_decompressed(path) as file:
        for number, line in enumerate(file, 1):
            try:
                text = line.decode("utf-8")
            except UnicodeDecodeError as error:
                raise UserError(f"{path}, line {number}: is not UTF-8 ({error.reason})") from None
            yield number, (text.removeprefix("\ufeff") if number == 1 else text).rstrip("\r\n")


class Piece(NamedTuple):
    """A part of a text; tokenising the parts one by one gives the tokens of the whole."""

    text: str
    ends: bool  # whether the document ends with it


def read_pieces(path: Path, separator: str = "") -> Iterator[Piece]:
    """Plain text in pieces of bounded size; the file is a document, or what stands between two separators is."""
    held, warned = "", False
    for text in _decoded(path):
        whole = len(held) - max(0, len(separator) - 1)  # what follows may be the beginning of a separator
        cut = word_boundary(held[: max(0, whole)])
        if not cut and whole > MAX_PIECE:
            if not warned:
                log.warning("%s: no whitespace in %s characters; the text is cut there", path, f"{len(held):,}")
            cut, warned = whole, True
        if cut:
            yield Piece(held[:cut], ends=False)
        held = held[cut:] + text
        if separator:
            *documents, held = held.split(separator)
            yield from (Piece(document, ends=True) for document in documents)
    yield Piece(held, ends=True)


def word_boundary(text: str) -> int:
    """The last place where the text can be cut without changing its tokens; 0 where there is none.

    That is before the last whitespace character of a run, if a word follows: byte-level BPE and SentencePiece join the
    space to the word after it, and byte-level BPE splits off the last character of a run. A space is preferred, since
    SentencePiece does not separate words at other whitespace.
    """
    return _last_before_word(text, " ") or max(_last_before_word(text, mark) for mark in "\n\t")


def _last_before_word(text: str, mark: str) -> int:
    place = text.rfind(mark, 0, -1)
    while place > 0 and text[place + 1].isspace():
        place = text.rfind(mark, 0, place)
    return max(place, 0)


def _decoded(path: Path) -> Iterator[str]:
    decoder, line = codecs.getincrementaldecoder("utf-8")(), 1
    with open_decompressed(path) as file:
        start = True
        while True:
            data = file.read(CHUNK)
            try:
                text = decoder.decode(data, final=not data)
            except UnicodeDecodeError as error:
                line += error.object[: error.start].count(b"\n")
                raise UserError(f"{path}, line {line}: is not UTF-8 ({error.reason})") from None
            line += text.count("\n")
            if text:
                yield text.removeprefix("\ufeff") if start else text
                start = False
            if not data:
                return
