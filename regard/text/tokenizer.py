"""Tokenizers: text to token ids and back, on the `tokenizers` library."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer as Engine

from regard.core.config import from_dict
from regard.core.errors import ConfigError, UserError, one_line
from regard.core.files import read_json, write_text

PAD, START, END, UNKNOWN, MASK = "<pad>", "<s>", "</s>", "<unk>", "<mask>"
SPECIAL = [PAD, START, END, UNKNOWN, MASK]
TARGETS = "target_tokenizer.json"  # beside the tokenizer.json of the sources, where targets are cut otherwise
ROLES = "special_tokens.json"  # beside a tokenizer.json whose special tokens have other names
BERT_NAMES = {PAD: "[PAD]", START: "[CLS]", END: "[SEP]", UNKNOWN: "[UNK]", MASK: "[MASK]"}


@dataclass(frozen=True)
class SpecialTokens:
    """The ids of the special tokens, for a tokenizer that has other names for them."""

    pad: int
    start: int
    end: int
    extra_ends: tuple[int, ...] = ()  # other tokens that end generation
    prefix: tuple[int, ...] = ()  # tokens before every prompt
    reads_special: bool = False  # the name of a special token in a text, such as <|im_end|>, is that token


class Tokenizer:
    """Without `special` its special tokens are those of regard, and "<s>" in a user's text is text.

    `targets` is the tokenizer of what a model writes, where that has other tokens than what it reads.
    """

    def __init__(self, engine: Engine, special: SpecialTokens | None = None, targets: "Tokenizer | None" = None):
        self.engine = engine
        self.engine.no_padding()  # batches are padded where they are made
        self.engine.no_truncation()
        self._named_otherwise = special is not None
        special = special or SpecialTokens(self._id(PAD), self._id(START), self._id(END))
        self.engine.encode_special_tokens = not special.reads_special
        self.pad, self.start, self.end = special.pad, special.start, special.end
        self.ends, self.prefix = frozenset((special.end, *special.extra_ends)), special.prefix
        self._special = special
        self._targets = targets

    @property
    def targets(self) -> "Tokenizer":
        """The tokenizer of targets: nearly always this one."""
        return self._targets or self

    def plain(self) -> "Tokenizer":
        """The same, for texts of strangers: names of special tokens in them are text."""
        special = replace(self._special, reads_special=False)
        return Tokenizer(Engine.from_str(self.engine.to_str()), special, self._targets)

    @property
    def mask(self) -> int:
        """The mask token of masked language models."""
        return self._id(MASK)

    def count_unknown(self, tokens: Sequence[int] | np.ndarray) -> int:
        """How many of these are the unknown token; byte-level tokenizers have none."""
        ids = (self.engine.token_to_id(name) for name in (UNKNOWN, BERT_NAMES[UNKNOWN]))
        return sum(int(np.count_nonzero(np.asarray(tokens) == number)) for number in ids if number is not None)

    @property
    def special(self) -> list[int]:
        """Tokens that never come from text."""
        return [number for number, token in self.engine.get_added_tokens_decoder().items() if token.special]

    @property
    def vocab(self) -> int:
        """The size of the vocabulary: the highest token id plus one, since some tokenizers skip ids."""
        return 1 + max(self.engine.get_vocab().values(), default=-1)

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        _check_several(texts)
        with _plain_errors():
            return [encoding.ids for encoding in self.engine.encode_batch_fast(list(texts), add_special_tokens=False)]

    def encode_marked(self, text: str) -> list[int]:
        """The tokens of a text in which the names of special tokens are these tokens, whatever holds for others."""
        before = self.engine.encode_special_tokens
        self.engine.encode_special_tokens = False
        try:
            return self.encode([text])[0]
        finally:
            self.engine.encode_special_tokens = before

    def prompt(self, text: str) -> list[int]:
        """The tokens that generation continues; an empty prompt is an end token, after which a new text begins."""
        return [*self.prefix, *self.encode([text])[0]] or [self.end]

    def offsets(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """The characters of its text that each token stands for: the first, and the one after the last."""
        _check_several(texts)
        with _plain_errors():
            return [encoding.offsets for encoding in self.engine.encode_batch(list(texts), add_special_tokens=False)]

    def decode(self, tokens: Sequence[Sequence[int]]) -> list[str]:
        texts: list[str] = self.engine.decode_batch([list(row) for row in tokens], skip_special_tokens=True)
        return texts

    def pieces(self, tokens: Sequence[int]) -> list[str]:
        """Each token as the vocabulary writes it, for display."""
        return [self.engine.id_to_token(token) or UNKNOWN for token in tokens]

    def is_byte(self, token: int) -> bool:
        """Whether it is one byte of a character outside the vocabulary, as in Llama: <0x0A>."""
        piece = self.engine.id_to_token(token) or ""
        return len(piece) == 6 and piece.startswith("<0x")

    def save(self, path: Path) -> None:
        """Write a tokenizer.json; where its special tokens have other names than ours, their roles beside it."""
        write_text(path, self.engine.to_str(pretty=True))
        if self._named_otherwise:
            write_text(path.with_name(ROLES), json.dumps(asdict(self._special), indent=1) + "\n")
        else:
            path.with_name(ROLES).unlink(missing_ok=True)
        if self._targets is not None:
            write_text(path.with_name(TARGETS), self._targets.engine.to_str(pretty=True))
        else:
            path.with_name(TARGETS).unlink(missing_ok=True)

    @staticmethod
    def load(path: Path) -> "Tokenizer":
        special, roles, targets = None, path.with_name(ROLES), path.with_name(TARGETS)
        if roles.exists():
            try:
                special = from_dict(SpecialTokens, read_json(roles))
            except ConfigError as error:
                raise UserError(f"{roles}: {error}") from None
        written = Tokenizer(_read_engine(targets), special) if targets.exists() else None
        return Tokenizer(_read_engine(path), special, written)

    @staticmethod
    def load_external(path: Path) -> "Tokenizer":
        """A tokenizer.json of another tool; missing special tokens are added."""
        if not path.is_file():
            raise UserError(f"{path}: there is no such file; a tokenizer.json is needed")
        try:
            engine = Engine.from_str(path.read_text(encoding="utf-8"))
        except Exception as error:
            raise UserError(f"{path}: is not a tokenizer ({one_line(error)})") from None
        known = engine.get_vocab()
        engine.add_special_tokens([token for token in SPECIAL if token not in known and BERT_NAMES[token] not in known])
        return Tokenizer(engine)

    def _id(self, token: str) -> int:
        number: int | None = self.engine.token_to_id(token)
        if number is None:
            number = self.engine.token_to_id(BERT_NAMES[token])
        if number is None:
            raise UserError(f"the tokenizer has no token {token!r}; it needs {', '.join(SPECIAL)}")
        return number


def _read_engine(path: Path) -> Engine:
    try:
        return Engine.from_str(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None
    except Exception as error:  # the library raises bare exceptions
        raise UserError(f"{path}: is not a tokenizer ({one_line(error)})") from None


@contextmanager
def _plain_errors() -> Iterator[None]:
    """A tokenizer.json can be read and still be unable to encode: its unknown token may not be in its vocabulary."""
    try:
        yield
    except TypeError:  # not a text
        raise
    except Exception as error:  # the library raises bare exceptions
        raise UserError(f"the tokenizer cannot encode this text ({one_line(error)})") from None


def check_vocab(vocab: int, tokenizer: Tokenizer) -> None:
    """Refuse a model with fewer embeddings than the tokenizer has tokens."""
    if vocab < tokenizer.vocab:
        raise ConfigError(
            f"model.vocab: {vocab:,} is smaller than the tokenizer's vocabulary of {tokenizer.vocab:,} tokens; "
            f"remove the setting, or make it at least {tokenizer.vocab:,}"
        )


def _check_several(texts: Sequence[str]) -> None:
    """A string is a sequence of strings too, so a single one would be encoded letter by letter."""
    if isinstance(texts, str):
        raise ConfigError("texts: a list of strings is needed, not one string; write [text]")
