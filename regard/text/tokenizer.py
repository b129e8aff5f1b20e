"""Tokenizers: text to numbers and back, on the `tokenizers` library."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer as Engine

from regard.core.errors import UserError
from regard.core.files import write_text

PAD, START, END, UNKNOWN, MASK = "<pad>", "<s>", "</s>", "<unk>", "<mask>"
SPECIAL = [PAD, START, END, UNKNOWN, MASK]
# What the tokenizers of BERT folders call the same tokens.
ALSO = {PAD: "[PAD]", START: "[CLS]", END: "[SEP]", UNKNOWN: "[UNK]", MASK: "[MASK]"}


@dataclass(frozen=True)
class Roles:
    """Which tokens fill up, begin and end a text, in a tokenizer whose names for them are not ours."""

    pad: int
    start: int
    end: int
    also_end: tuple[int, ...] = ()  # what else a writer stops at
    before: tuple[int, ...] = ()  # what stands before every text that a writer goes on from


class Tokenizer:
    def __init__(self, engine: Engine, roles: Roles | None = None):
        self.engine = engine
        self.engine.encode_special_tokens = True  # "<s>" in a user's text is three characters, not a command
        self.engine.no_padding()  # batches are padded where they are made
        self.engine.no_truncation()
        roles = roles or Roles(self._id(PAD), self._id(START), self._id(END))
        self.pad, self.start, self.end = roles.pad, roles.start, roles.end
        self.ends, self.before = frozenset((roles.end, *roles.also_end)), roles.before

    @property
    def mask(self) -> int:
        """The token that hides a word."""
        return self._id(MASK)

    def count_unknown(self, tokens: Sequence[int] | np.ndarray) -> int:
        """How many of these stand for something that the tokenizer has never seen; one of bytes knows everything."""
        known = (self.engine.token_to_id(name) for name in (UNKNOWN, ALSO[UNKNOWN]))
        return sum(int(np.count_nonzero(np.asarray(tokens) == number)) for number in known if number is not None)

    @property
    def special(self) -> list[int]:
        """Tokens that no text is made of."""
        return [number for number, token in self.engine.get_added_tokens_decoder().items() if token.special]

    @property
    def vocab(self) -> int:
        """One more than the highest number of a token: tokenizers of others' making leave some numbers out."""
        return 1 + max(self.engine.get_vocab().values(), default=-1)

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        return [encoding.ids for encoding in self.engine.encode_batch_fast(list(texts), add_special_tokens=False)]

    def prompt(self, text: str) -> list[int]:
        """What a writer goes on from; a text begins where another ended."""
        return [*self.before, *self.encode([text])[0]] or [self.end]

    def spans(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """The characters of its text that each token was cut from: the first, and the one after the last."""
        return [encoding.offsets for encoding in self.engine.encode_batch(list(texts), add_special_tokens=False)]

    def decode(self, tokens: Sequence[Sequence[int]]) -> list[str]:
        return self.engine.decode_batch([list(row) for row in tokens], skip_special_tokens=True)

    def pieces(self, tokens: Sequence[int]) -> list[str]:
        """Each token as it is written, for pictures."""
        return [self.engine.id_to_token(token) or UNKNOWN for token in tokens]

    def is_byte(self, token: int) -> bool:
        """Whether it is one byte of a character that has no token, as the Llama kind writes them: <0x0A>."""
        piece = self.engine.id_to_token(token) or ""
        return len(piece) == 6 and piece.startswith("<0x")

    def save(self, path: Path) -> None:
        write_text(path, self.engine.to_str(pretty=True))

    @staticmethod
    def load(path: Path) -> "Tokenizer":
        try:
            return Tokenizer(Engine.from_str(path.read_text(encoding="utf-8")))
        except OSError as error:
            raise UserError(f"{path}: cannot be read ({error.strerror})") from None
        except Exception as error:  # the library raises bare exceptions
            raise UserError(f"{path}: is not a tokenizer ({error})") from None

    @staticmethod
    def adopt(path: Path) -> "Tokenizer":
        """A tokenizer.json of any making; the special tokens that it lacks are added to it."""
        if not path.is_file():
            raise UserError(f"{path}: there is no such file; a tokenizer.json is needed")
        try:
            engine = Engine.from_str(path.read_text(encoding="utf-8"))
        except Exception as error:
            raise UserError(f"{path}: is not a tokenizer ({error})") from None
        known = engine.get_vocab()
        engine.add_special_tokens([token for token in SPECIAL if token not in known and ALSO[token] not in known])
        return Tokenizer(engine)

    def _id(self, token: str) -> int:
        number = self.engine.token_to_id(token)
        if number is None:
            number = self.engine.token_to_id(ALSO[token])
        if number is None:
            raise UserError(f"the tokenizer has no token {token!r}; it must hold {', '.join(SPECIAL)}")
        return number
