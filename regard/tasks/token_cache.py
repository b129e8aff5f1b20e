"""The tokens of a corpus, encoded beside the run folder and moved into it once training may begin."""

import logging
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from regard.data.text.corpus import TOKENIZER, Corpus
from regard.tasks.base import Workspace
from regard.text import Tokenizer

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class TokenCache:
    tokenizer: Tokenizer
    train: np.ndarray
    valid: np.ndarray
    keep: Callable[[], object]  # move the tokens into the run folder


@contextmanager
def token_cache(corpus: Corpus, workspace: Workspace) -> Iterator[TokenCache]:
    """The tokens that the folder already holds, or new ones; nothing of them remains where the run never starts."""
    out, ranks = workspace.out, workspace.ranks
    final, temporary = out / "tokens", out.parent / f".{out.name}.tokens.part"
    place = final if workspace.resume and final.exists() else temporary
    try:
        with ranks.first_only() as first:
            if first and place == temporary:
                shutil.rmtree(temporary, ignore_errors=True)
                corpus.encode(temporary, existing_tokenizer(workspace))
        tokenizer = Tokenizer.load(place / TOKENIZER)
        train, valid = corpus.read(place)
        if ranks.first:
            note_unknown(tokenizer, valid, "the validation text")
        yield TokenCache(tokenizer, train, valid, lambda: None if place == final else place.replace(final))
    finally:
        if ranks.first:
            shutil.rmtree(temporary, ignore_errors=True)


def existing_tokenizer(workspace: Workspace) -> Tokenizer | None:
    """The tokenizer of a run that is continued, or of its pre-trained model: weights know the ids of no other."""
    path = workspace.out / TOKENIZER
    return Tokenizer.load(path) if workspace.resume and path.exists() else workspace.tokenizer


def note_unknown(tokenizer: Tokenizer, tokens: np.ndarray, where: str) -> None:
    """A loss over tokens that were never trained means little."""
    if unknown := tokenizer.count_unknown(tokens):
        log.info("note: %s of %s tokens of %s never occur in training", f"{unknown:,}", f"{len(tokens):,}", where)
