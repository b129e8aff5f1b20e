"""A corpus: running text or documents in files, with a part of it held out for validation."""

import math
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from regard.core.errors import ConfigError, UserError, at_least, share
from regard.data.text.files import TEXT, check_columns, holds_documents, read_text
from regard.data.text.tokens import read_tokens, write_tokens
from regard.text import Characters, Tokenizer, TokenizerConfig

TOKENIZER, TRAIN, VALID = "tokenizer.json", "train.tokens", "valid.tokens"
SAMPLE = 200_000_000  # characters to train the tokenizer on: more would hardly change it


@dataclass(frozen=True, kw_only=True)
class Corpus:
    files: tuple[str, ...]
    valid: tuple[str, ...] = ()  # none: the last part of the tokens
    valid_fraction: float = 0.1  # of the tokens, if `valid` is not given
    columns: tuple[str, ...] = ()  # the name of the text column in files of records, if it is not "text"
    length: int = 256  # tokens per window
    tokenizer: TokenizerConfig = Characters()

    def __post_init__(self) -> None:
        check_columns(self.columns, TEXT)
        if self.columns and not any(holds_documents(Path(file)) for file in self.files):
            raise ConfigError("columns: plain text has no columns; remove the setting")
        at_least(2, length=self.length)
        share(valid_fraction=self.valid_fraction)
        if not self.files:
            raise ConfigError("files: at least one is needed")

    def encode(self, folder: Path, tokenizer: Tokenizer | None = None) -> None:
        """Write tokenizer and tokens to a new folder; after an error nothing of it is left."""
        folder.mkdir(parents=True)
        try:
            tokenizer = tokenizer or self.tokenizer.train(_sample(map(Path, self.files), self.columns))
            tokenizer.save(folder / TOKENIZER)
            write_tokens(map(Path, self.files), tokenizer, folder / TRAIN, self.columns)
            if self.valid:
                write_tokens(map(Path, self.valid), tokenizer, folder / VALID, self.columns)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    def read(self, folder: Path) -> tuple[np.ndarray, np.ndarray]:
        """Training and validation tokens, memory-mapped from what `encode` wrote."""
        tokens = read_tokens(folder / TRAIN)
        if self.valid:
            train, valid = tokens, check_length(read_tokens(folder / VALID), self.valid)
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


def check_length(tokens: np.ndarray, files: Sequence[str]) -> np.ndarray:
    """Refuse a text without a next token to predict."""
    if len(tokens) < 2:
        raise UserError(f"{', '.join(files)}: {len(tokens)} tokens are too few; at least 2 are needed")
    return tokens


def _sample(files: Iterator[Path], columns: Sequence[str]) -> Iterator[str]:
    left = SAMPLE
    for file in files:
        for piece in read_text(file, columns):
            yield piece[:left]
            left -= len(piece)
            if left <= 0:
                return
