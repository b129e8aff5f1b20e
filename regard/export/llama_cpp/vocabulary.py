"""Tokenizers in GGUF: byte-level BPE, BPE over pieces with spaces marked (SentencePiece), and characters."""

import json
from collections.abc import Mapping
from typing import Any

from regard.core.errors import ConfigError
from regard.text import Tokenizer

SPACE = "\u2581"  # SentencePiece writes a space like this
# How texts are split before BPE, by what is found in the regular expression of the split.
SPLITS = {r"\p{N}{1,3}": "llama-bpe", r"(?i:'s|'t": "qwen2"}


def write_vocabulary(writer: Any, tokenizer: Tokenizer, vocab: int) -> None:
    """The tokens with their types, and how text is split into them."""
    data = json.loads(tokenizer.engine.to_str())
    kind = data["model"]["type"]
    pieces = [tokenizer.engine.id_to_token(number) or f"[PAD{number}]" for number in range(vocab)]
    if kind == "BPE" and _is_byte_level(data):
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre(_split(data))
        writer.add_token_merges(
            [merge if isinstance(merge, str) else " ".join(merge) for merge in data["model"]["merges"]]
        )
    elif kind == "BPE" and any(SPACE in piece for piece in pieces):
        writer.add_tokenizer_model("llama")
        writer.add_tokenizer_pre("default")
        writer.add_token_scores(_scores(data["model"], pieces))
        writer.add_add_space_prefix(tokenizer.encode(["a"]) == tokenizer.encode([" a"]) or _prepends(data))
    elif kind == "WordLevel":  # characters: the longest known piece is taken, as in RWKV's vocabulary
        writer.add_tokenizer_model("rwkv")
        pieces = [piece if number in tokenizer.special else _escaped(piece) for number, piece in enumerate(pieces)]
    else:
        raise ConfigError(f"tokenizer: {kind} has no counterpart in GGUF; train with --data.tokenizer BPE")
    writer.add_token_list(pieces)
    writer.add_token_types(_types(tokenizer, vocab))
    writer.add_bos_token_id(tokenizer.start)
    writer.add_eos_token_id(tokenizer.end)
    writer.add_pad_token_id(tokenizer.pad)
    unknown = [number for number in tokenizer.special if "unk" in (tokenizer.engine.id_to_token(number) or "").lower()]
    if unknown:
        writer.add_unk_token_id(unknown[0])
    writer.add_add_bos_token(tokenizer.prefix == (tokenizer.start,))
    writer.add_add_eos_token(False)


def _types(tokenizer: Tokenizer, vocab: int) -> list[int]:
    from gguf import TokenType

    special, added = set(tokenizer.special), set(tokenizer.engine.get_added_tokens_decoder())
    types: list[int] = []
    for number in range(vocab):
        piece = tokenizer.engine.id_to_token(number)
        if piece is None:
            types.append(TokenType.UNUSED)
        elif number in special:
            types.append(TokenType.UNKNOWN if "unk" in piece.lower() else TokenType.CONTROL)
        elif tokenizer.is_byte(number):
            types.append(TokenType.BYTE)
        else:
            types.append(TokenType.USER_DEFINED if number in added else TokenType.NORMAL)
    return types


def _steps(part: Mapping[str, Any] | None, nested: str) -> list[Mapping[str, Any]]:
    """The steps of a pre-tokenizer or a normalizer, which may be a sequence of some."""
    if part is None:
        return []
    return list(part[nested]) if part["type"] == "Sequence" else [part]


def _is_byte_level(data: Mapping[str, Any]) -> bool:
    return any(step["type"] == "ByteLevel" for step in _steps(data["pre_tokenizer"], "pretokenizers"))


def _split(data: Mapping[str, Any]) -> str:
    """The name of the regular expression that llama.cpp splits texts with."""
    steps = _steps(data["pre_tokenizer"], "pretokenizers")
    patterns = [step["pattern"].get("Regex", "") for step in steps if step["type"] == "Split"]
    if not patterns:
        return "gpt-2"
    for mark, name in SPLITS.items():
        if mark in patterns[0]:
            return name
    raise ConfigError(f"tokenizer: splits texts by {patterns[0]!r}, which has no name in GGUF")


def _prepends(data: Mapping[str, Any]) -> bool:
    steps = [*_steps(data["normalizer"], "normalizers"), *_steps(data["pre_tokenizer"], "pretokenizers")]
    return any(step["type"] == "Prepend" or step.get("prepend_scheme", "never") != "never" for step in steps)


def _scores(model: Mapping[str, Any], pieces: list[str]) -> list[float]:
    """SentencePiece merges the pair with the highest score first: the earliest merge has it."""
    merges = [tuple(merge.split(" ")) if isinstance(merge, str) else tuple(merge) for merge in model["merges"]]
    rank = {"".join(merge): number for number, merge in reversed(list(enumerate(merges)))}
    return [-float(rank.get(piece, len(merges))) for piece in pieces]


def _escaped(piece: str) -> str:
    """A piece as its bytes, those beyond printable ASCII in hexadecimal."""
    return "".join(chr(b) if 32 <= b < 127 and b != ord("\\") else f"\\x{b:02x}" for b in piece.encode())
