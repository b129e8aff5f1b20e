"""SentencePiece models (`spiece.model`, `tokenizer.model`, `source.spm`): a protocol buffer, read with checked bounds.

A message is a sequence of fields, each a number, a type and a value (protobuf.dev/programming-guides/encoding). Only
the fields that decide how a text is cut are kept; a file may have any others.
"""

import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Literal

from regard.core.errors import UserError
from regard.core.sizes import MAX_VOCAB
from regard.text.spm_charsmap import check_charsmap

LARGEST = 64 * 2**20  # bytes; the largest vocabularies in use, of 256,000 pieces, take 5 of them
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5  # types of fields
LAST_BYTE = 9  # of a varint: 64 bits in sevens
MODELS: dict[int, Literal["unigram", "bpe", "characters"]] = {1: "unigram", 2: "bpe", 4: "characters"}
Value = int | bytes


class Kind(IntEnum):
    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 3  # never comes from text
    USER_DEFINED = 4  # always one piece where it occurs
    UNUSED = 5
    BYTE = 6  # of a character outside the vocabulary


KINDS = {int(kind) for kind in Kind}


@dataclass(frozen=True)
class Piece:
    text: str
    score: float = 0.0
    kind: Kind = Kind.NORMAL


@dataclass(frozen=True)
class SentencePieceModel:
    pieces: tuple[Piece, ...]  # in the order of their ids
    model: Literal["unigram", "bpe", "characters"] = "unigram"
    byte_fallback: bool = False
    charsmap: bytes = b""  # how characters are normalised
    prefix: bool = True  # a space is put before each text
    squeeze: bool = True  # several spaces become one, and none is left at the ends


def read_spm(path: Path) -> SentencePieceModel:
    """The model of a file; one that is damaged, or cuts texts in a way that is not known, is refused in one line."""
    try:
        if path.stat().st_size > LARGEST:
            raise UserError(f"{path}: has {path.stat().st_size:,} bytes, more than {LARGEST:,}: refused")
        return parse_spm(path.read_bytes())
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise UserError(f"{path}: is not a SentencePiece model that can be read ({error})") from None


def parse_spm(data: bytes) -> SentencePieceModel:
    pieces: list[Piece] = []
    trainer, normaliser = dict[int, Value](), dict[int, Value]()
    for number, value in _fields(data):
        if number == 1:
            pieces.append(_piece(_message(value)))
        elif number == 2:
            trainer.update(_fields(_message(value)))
        elif number == 3:
            normaliser.update(_fields(_message(value)))
        if len(pieces) > MAX_VOCAB:
            raise ValueError(f"more than {MAX_VOCAB:,} pieces")
    _check_pieces(pieces)
    model = trainer.get(3, 1)
    if model not in MODELS:
        raise ValueError(f"it cuts texts into {'words' if model == 3 else f'pieces of kind {model!r}'}")
    if trainer.get(24, 0):
        raise ValueError("it marks the ends of words (treat_whitespace_as_suffix)")
    if not normaliser.get(5, 1):
        raise ValueError("it leaves spaces as they are (escape_whitespaces)")
    if model != 1 and any(piece.kind == Kind.UNUSED for piece in pieces):
        raise ValueError("some of its pieces are unused, which only a unigram model can have")
    charsmap = _message(normaliser.get(2, b""))
    check_charsmap(charsmap)
    byte_fallback = bool(trainer.get(35, 0))
    if byte_fallback and sum(piece.kind == Kind.BYTE for piece in pieces) != 256:
        raise ValueError("it falls back on bytes, and does not have all 256 of them")
    return SentencePieceModel(
        pieces=tuple(pieces),
        model=MODELS[int(model)],
        byte_fallback=byte_fallback,
        charsmap=charsmap,
        prefix=bool(normaliser.get(3, 1)),
        squeeze=bool(normaliser.get(4, 1)),
    )


def _check_pieces(pieces: list[Piece]) -> None:
    if not pieces:
        raise ValueError("it has no pieces")
    if len({piece.text for piece in pieces}) < len(pieces):
        raise ValueError("two of its pieces are the same")
    if sum(piece.kind == Kind.UNKNOWN for piece in pieces) != 1:
        raise ValueError("one of its pieces must be the unknown one")


def _piece(data: bytes) -> Piece:
    fields = dict(_fields(data))
    text, score, kind = fields.get(1, b""), fields.get(2, 0), fields.get(3, 1)
    if not isinstance(text, bytes) or not isinstance(score, int) or kind not in KINDS:
        raise ValueError("a piece has fields of other types")
    number = struct.unpack("<f", struct.pack("<I", score & 0xFFFFFFFF))[0]
    if not text or not math.isfinite(number):
        raise ValueError("a piece is empty, or its score is no number")
    try:
        return Piece(text.decode("utf-8"), number, Kind(int(kind)))
    except UnicodeDecodeError:
        raise ValueError("a piece is not UTF-8") from None


def _message(value: Value) -> bytes:
    if not isinstance(value, bytes):
        raise ValueError("a field that should hold bytes holds a number")
    return value


def _fields(data: bytes) -> Iterator[tuple[int, Value]]:
    """The fields of a message in order, each with its number."""
    place = 0
    while place < len(data):
        key, place = _varint(data, place)
        number, kind = key >> 3, key & 7
        if kind == VARINT:
            value, place = _varint(data, place)
            yield number, value
            continue
        if kind == BYTES:
            size, place = _varint(data, place)
        elif kind in (FIXED64, FIXED32):
            size = 8 if kind == FIXED64 else 4
        else:
            raise ValueError(f"byte {place:,} begins no field")
        if size > len(data) - place:
            raise ValueError(f"it ends in the middle of a field, at byte {len(data):,}")
        content = data[place : place + size]
        place += size
        yield number, content if kind == BYTES else int.from_bytes(content, "little")


def _varint(data: bytes, place: int) -> tuple[int, int]:
    """A number of up to 64 bits, and the place after it."""
    number = 0
    for count in range(LAST_BYTE + 1):
        if place + count >= len(data):
            raise ValueError(f"it ends in the middle of a number, at byte {len(data):,}")
        byte = data[place + count]
        number |= (byte & 0x7F) << (7 * count)
        if byte < 0x80:
            return number, place + count + 1
    raise ValueError(f"byte {place:,} begins a number without an end")
