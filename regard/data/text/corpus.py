"""A corpus: running text in files, of which a share is kept apart to measure by."""

import math
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from regard.core.errors import ConfigError, UserError, at_least, share
from regard.data.text.files import TEXT, check_columns, holds_documents, read_text
from regard.data.text.tokens import read_tokens, write_tokens
from regard.text import Characters, Tokenizer, Tokenizing

TOKENIZER, TRAIN, VALID = "tokenizer.json", "train.tokens", "valid.tokens"
SAMPLE = 200_000_000  # characters that a tokenizer learns from: more would not change it


@dataclass(frozen=True, kw_only=True)
class Corpus:
    files: tuple[str, ...]
    valid: tuple[str, ...] = ()  # none: the last share of the tokens
    valid_share: float = 0.1
    columns: tuple[str, ...] = ()  # what files of records call the text; none: so
    length: int = 256  # tokens to a window
    tokenizer: Tokenizing = Characters()

    def __post_init__(self) -> None:
        check_columns(self.columns, TEXT)
        if self.columns and not any(holds_documents(Path(file)) for file in self.files):
            raise ConfigError("columns: plain text has none to name; leave them out")
        at_least(2, length=self.length)
        share(valid_share=self.valid_share)
        if not self.files:
            raise ConfigError("files: at least one is needed")

    def encode(self, folder: Path, tokenizer: Tokenizer | None = None) -> None:
        """Write tokenizer and tokens to a new folder; whatever is wrong with a file is named, and nothing stays."""
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
        """Tokens to train on and tokens to measure by, mapped from what `encode` wrote."""
        tokens = read_tokens(folder / TRAIN)
        if self.valid:
            check_length(tokens, self.files)
            return tokens, check_length(read_tokens(folder / VALID), self.valid)
        split = math.floor(len(tokens) * (1 - self.valid_share))
        if split < 2 or len(tokens) - split < 2:
            raise UserError(f"{', '.join(self.files)}: {len(tokens)} tokens are too few to learn and to measure by")
        return tokens[:split], tokens[split:]


def check_length(tokens: np.ndarray, files: Sequence[str]) -> np.ndarray:
    """Refuse, by name, files with too little in them."""
    if len(tokens) < 2:
        raise UserError(f"{', '.join(files)}: {len(tokens)} tokens are too few; there is no next one to tell")
    return tokens


def _sample(files: Iterator[Path], columns: Sequence[str]) -> Iterator[str]:
    left = SAMPLE
    for file in files:
        for piece in read_text(file, columns):
            yield piece[:left]
            left -= len(piece)
            if left <= 0:
                return
