"""Evaluating on running text: files become tokens, read in windows that do not overlap."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from regard.data.text.corpus import Corpus, check_length
from regard.data.text.documents import Documents
from regard.data.text.files import TEXT, check_columns
from regard.data.text.tokens import read_tokens, write_tokens
from regard.parts.positions import Learned
from regard.tasks.base import EvalOptions, Run
from regard.tasks.columns import training_columns, training_data
from regard.tasks.token_cache import note_unknown

ROWS = 64  # windows in a batch: only speed depends on it


@contextmanager
def encoded_files(run: Run, files: Sequence[str], options: EvalOptions) -> Iterator[tuple[np.ndarray, int]]:
    """The text of the files as tokens, on disk for as long as they are needed, and its length in bytes."""
    tokenizer = run.require_tokenizer(f"it cannot read {files[0]}")
    columns = options.columns or training_columns(run)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokens"
        check_columns(columns, TEXT)
        documents = Documents(tuple(files), tuple(columns), str(training_data(run).get("separator") or ""))
        size = write_tokens(documents.pieces(), tokenizer, path)
        tokens = check_length(read_tokens(path), files)
        note_unknown(tokenizer, tokens, ", ".join(files))
        yield tokens, size


def window_length(run: Run, length: int | None) -> int:
    """Tokens of a window: as the task says, else as in training, within what the positions of the model allow."""
    length = length or training_data(run).get("length") or Corpus.length
    position = getattr(run.config, "position", None)
    return min(int(length), position.length) if isinstance(position, Learned) else int(length)
