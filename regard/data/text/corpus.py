"""A corpus: running text or documents in files, with a part of it held out for validation."""

import math
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from regard.core.errors import ConfigError, UserError, at_least, share
from regard.data.text.documents import Documents, holds_records
from regard.data.text.files import TEXT, check_columns
from regard.data.text.lines import Piece
from regard.data.text.tokens import hold_out_documents, read_tokens, write_tokens
from regard.text import Characters, Tokenizer, TokenizerConfig, train_tokenizer

TOKENIZER, TRAIN, VALID = "tokenizer.json", "train.tokens", "valid.tokens"
SAMPLE = 200_000_000  # characters to train the tokenizer on: more would hardly change it


@dataclass(frozen=True, kw_only=True)
class Corpus:
    files: tuple[str, ...]  # or folders
    valid: tuple[str, ...] = ()  # none: documents drawn at random, or the last part of running text
    valid_fraction: float = 0.1  # of the tokens, if `valid` is not given
    columns: tuple[str, ...] = ()  # the name of the text column in files of records, if it is not "text"
    separator: str = ""  # between the documents of a plain text file
    length: int = 256  # tokens per window
    tokenizer: TokenizerConfig | None = Characters()  # None: that of the pre-trained model

    def __post_init__(self) -> None:
        check_columns(self.columns, TEXT)
        if self.columns and not any(holds_records(Path(file)) or Path(file).is_dir() for file in self.files):
            raise ConfigError("columns: plain text has no columns; remove the setting")
        at_least(2, length=self.length)
        share(valid_fraction=self.valid_fraction)
        if not self.files:
            raise ConfigError("files: at least one is needed")

    def encode(self, folder: Path, tokenizer: Tokenizer | None = None) -> None:
        """Write tokenizer and tokens to a new folder; after an error nothing of it is left."""
        folder.mkdir(parents=True)
        try:
            tokenizer = tokenizer or train_tokenizer(self.tokenizer, _sample(self._pieces(self.files)))
            tokenizer.save(folder / TOKENIZER)
            write_tokens(self._pieces(self.files), tokenizer, folder / TRAIN)
            if self.valid:
                write_tokens(self._pieces(self.valid), tokenizer, folder / VALID)
            else:
                hold_out_documents(folder / TRAIN, folder / VALID, tokenizer.end, self.valid_fraction)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    def read(self, folder: Path) -> tuple[np.ndarray, np.ndarray]:
        """Training and validation tokens, memory-mapped from what `encode` wrote."""
        tokens = read_tokens(folder / TRAIN)
        if (folder / VALID).exists():
            train, valid = tokens, check_length(read_tokens(folder / VALID), self.valid or self.files)
        else:
            split = math.floor(len(tokens) * (1 - self.valid_fraction))
            train, valid = tokens[:split], tokens[split:]
        names = ", ".join(self.files)
        if len(train) < 2 or len(valid) < 2:
            raise UserError(f"{names}: {len(tokens)} tokens are too few to train and to validate on")
        if self.length >= len(train):
            raise UserError(
                f"data.length: a window of {self.length:,} tokens does not fit into {names}, which has {len(train):,} "
                f"tokens to train on; set --data.length to {len(train) - 1:,} or less, or add text"
            )
        return train, valid

    def _pieces(self, files: tuple[str, ...]) -> Iterator[Piece]:
        return Documents(files, self.columns, self.separator).pieces()


def check_length(tokens: np.ndarray, files: Sequence[str]) -> np.ndarray:
    """Refuse a text without a next token to predict."""
    if len(tokens) < 2:
        raise UserError(f"{', '.join(files)}: {len(tokens)} tokens are too few; at least 2 are needed")
    return tokens


def _sample(pieces: Iterator[Piece]) -> Iterator[str]:
    left = SAMPLE
    for piece in pieces:
        yield piece.text[:left]
        left -= len(piece.text)
        if left <= 0:
            return
