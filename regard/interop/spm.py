"""SentencePiece models without a tokenizer.json: which number a family gives to each piece, and what frames a text.

The file numbers its pieces from zero. Some families put tokens of their own before or after them, as fairseq did;
Marian has a list of its own, over the pieces of two files, one for sources and one for targets.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, processors
from tokenizers import Tokenizer as Engine

from regard.core.errors import UserError
from regard.interop.folder import file_in, has_file, read_json, shown
from regard.interop.special import ROLES
from regard.models import BERT, GPT, Model
from regard.text.spm_engine import build_engine
from regard.text.spm_file import Kind, Piece, read_spm

NAMES = ("tokenizer.model", "spiece.model", "sentencepiece.bpe.model", "sentencepiece.model")
SOURCE, TARGET, VOCAB, TARGET_VOCAB = "source.spm", "target.spm", "vocab.json", "target_vocab.json"
ADDED = "added_tokens.json"
FILES = (*NAMES, SOURCE, TARGET, VOCAB, TARGET_VOCAB, ADDED)
CODE = re.compile(r">>.+<<")  # the language that a Marian model of several should write
SENTINELS = 100  # of T5: <extra_id_0> and so on, the last of which comes first
OTHERWISE = {  # families whose tokenizers do more than their SentencePiece model
    "albert": "it strips accents",
    "m2m_100": "languages have tokens of their own",
    "mbart": "languages have tokens of their own",
    "plbart": "languages have tokens of their own",
    "rembert": "it changes quotes",
}
Pieces = tuple[Piece, ...]


def find_spm(folder: Path) -> str | None:
    """The name of the SentencePiece model of a folder that has one for sources and targets alike."""
    return next((name for name in NAMES if has_file(folder, name)), None)


def is_marian(folder: Path) -> bool:
    return has_file(folder, SOURCE) and has_file(folder, VOCAB)


@dataclass(frozen=True)
class Framing:
    """What a folder says of special tokens: by name, and whether a text begins or ends with one."""

    family: str
    names: dict[str, str]
    begins: bool
    ends: bool
    added: dict[int, tuple[str, bool]]  # tokens beyond the file: name, and whether it is special
    sentinels: int = SENTINELS


def read_framing(folder: Path, names: dict[str, Any], family: str) -> Framing:
    added = {number: (name, True) for name, number in _added(folder).items()}
    stated = names.get("added_tokens_decoder")
    for number, token in (stated if isinstance(stated, dict) else {}).items():
        if not number.isdecimal() or not isinstance(token, dict) or not isinstance(token.get("content"), str):
            raise UserError(f"its added_tokens_decoder must lead from numbers to tokens, not from {shown(number)}")
        added[int(number)] = (token["content"], token.get("special") is True)
    roles = {role: value for role in ROLES if (value := _name(names.get(f"{role}_token"))) is not None}
    sentinels = names.get("extra_ids", SENTINELS)
    return Framing(
        family=family,
        names=roles,
        begins=names.get("add_bos_token") is not False,
        ends=names.get("add_eos_token") is True,
        added=added,
        sentinels=sentinels if type(sentinels) is int and 0 <= sentinels <= 10 * SENTINELS else SENTINELS,
    )


def _added(folder: Path) -> dict[str, int]:
    added = read_json(folder, ADDED) if has_file(folder, ADDED) else {}
    if not all(type(number) is int for number in added.values()):
        raise UserError(f"its {ADDED} must lead from tokens to numbers")
    return added


def _name(value: Any) -> str | None:
    value = value.get("content") if isinstance(value, dict) else value
    return value if isinstance(value, str) else None


def spm_engine(folder: Path, name: str, config: Model, framing: Framing) -> Engine:
    """The tokenizer of a folder that has nothing but a SentencePiece model."""
    if framing.family in OTHERWISE:
        raise UserError(f"{name} alone is not enough for {framing.family}, as {OTHERWISE[framing.family]}")
    spm = read_spm(file_in(folder, name))
    room = getattr(config, "vocab", 0) - len(spm.pieces)
    layout = LAYOUTS.get(framing.family)
    pieces = spm.pieces if layout is None else layout(spm.pieces, min(max(room, 0), framing.sentinels))
    engine = build_engine(replace(spm, pieces=pieces))
    for number, (token, special) in sorted(framing.added.items()):
        added = AddedToken(token, normalized=False, special=special)
        if special:
            engine.add_special_tokens([added])
        elif engine.token_to_id(token) is None:
            engine.add_tokens([added])
        if engine.token_to_id(token) != number:
            raise UserError(f"its added token {shown(token)} should be number {number:,}, and cannot be")
    _frame(engine, config, framing)
    return engine


def _frame(engine: Engine, config: Model, framing: Framing) -> None:
    """Texts begin and end as the model learned them."""

    def known(*roles: str) -> str | None:
        names = [name for role in roles for name in (framing.names.get(role), *ROLES[role]) if name is not None]
        return next((name for name in names if engine.token_to_id(name) is not None), None)

    first = known("cls", "bos") if isinstance(config, BERT) else known("bos") if isinstance(config, GPT) else None
    last = known("sep", "eos")
    if isinstance(config, GPT):
        first, last = first if framing.begins else None, last if framing.ends else None
        if framing.family == "xglm":  # which was trained on texts between ends
            first = known("eos")
    parts = [part for part in (first, "$A", last) if part is not None]
    special = [(name, engine.token_to_id(name)) for name in dict.fromkeys((first, last)) if name is not None]
    engine.post_processor = processors.TemplateProcessing(single=parts, pair=None, special_tokens=special)


# Layouts: the pieces of the file, and how many tokens of its own the model has room for.


def _control(*names: str) -> Pieces:
    return tuple(Piece(name, kind=Kind.CONTROL) for name in names)


def _fairseq(*last: str) -> Callable[[Pieces, int], Pieces]:
    """fairseq has four tokens of its own in place of the first three of the file."""

    def layout(pieces: Pieces, room: int) -> Pieces:
        return (*_control("<s>", "<pad>", "</s>"), Piece("<unk>", kind=Kind.UNKNOWN), *pieces[3:], *_control(*last))

    return layout


def _camembert(pieces: Pieces, room: int) -> Pieces:
    first = (*_control("<s>NOTUSED", "<pad>", "</s>NOTUSED"), Piece("<unk>", kind=Kind.UNKNOWN))
    return (*first, *_control("<unk>NOTUSED"), *pieces[1:], *_control("<mask>"))


def _t5(pieces: Pieces, room: int) -> Pieces:
    return (*pieces, *_control(*(f"<extra_id_{number}>" for number in reversed(range(room)))))


def _pegasus(pieces: Pieces, room: int) -> Pieces:
    first = _control("<pad>", "</s>", "<mask_1>", "<mask_2>", *(f"<unk_{number}>" for number in range(2, 103)))
    return (*first, *pieces[2:])


LAYOUTS: dict[str, Callable[[Pieces, int], Pieces]] = {
    "camembert": _camembert,
    "mt5": _t5,
    "pegasus": _pegasus,
    "t5": _t5,
    "xglm": _fairseq(*(f"<madeupword{number}>" for number in range(7))),
    "xlm-roberta": _fairseq("<mask>"),
}


# Marian


def marian_engines(folder: Path, two: bool) -> tuple[Engine, Engine]:
    """The tokenizers of sources and of targets; `two`: they have vocabularies of their own."""
    target_vocab = TARGET_VOCAB if two else VOCAB
    target = TARGET if has_file(folder, TARGET) else SOURCE
    return _of_list(folder, SOURCE, VOCAB), _of_list(folder, target, target_vocab)


def _of_list(folder: Path, name: str, vocab: str) -> Engine:
    """A SentencePiece model whose pieces have the numbers of a list. A piece that is not in the list cuts no text, and
    a piece of the list that is not in the file is only written."""
    numbers, spm = _numbers(folder, vocab), read_spm(file_in(folder, name))
    here = {piece.text: piece for piece in spm.pieces if piece.kind in (Kind.NORMAL, Kind.USER_DEFINED, Kind.BYTE)}
    roles = {"<unk>": Kind.UNKNOWN} | dict.fromkeys(("</s>", "<pad>", "<s>"), Kind.CONTROL)
    roles |= {text: Kind.USER_DEFINED for text in numbers if CODE.fullmatch(text)}
    if not {"<unk>", "</s>"} <= set(numbers):
        raise UserError(f"its {vocab} has no <unk> and </s>")
    if spm.model != "unigram":
        raise UserError(f"its {name} merges pairs, which no Marian model does")
    pieces = [
        Piece(text, kind=roles[text]) if text in roles else here.get(text, Piece(text, kind=Kind.UNUSED))
        for text in numbers
    ]
    engine = build_engine(replace(spm, pieces=tuple(pieces)))
    codes = [text for text, kind in roles.items() if kind == Kind.USER_DEFINED]
    engine.add_tokens([AddedToken(code, normalized=False, special=False) for code in codes])
    engine.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair=None, special_tokens=[("</s>", engine.token_to_id("</s>"))]
    )
    return engine


def _numbers(folder: Path, vocab: str) -> Sequence[str]:
    """The tokens of a list in the order of their numbers, without gaps."""
    numbers = read_json(folder, vocab)
    ordered = sorted(numbers, key=lambda text: numbers[text] if type(numbers[text]) is int else -1)
    if [numbers[text] for text in ordered] != list(range(len(ordered))) or not all(ordered):
        raise UserError(f"its {vocab} must number its tokens from 0, each once")
    return ordered
