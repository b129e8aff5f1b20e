"""A corpus as tokens, made ready for a run: encoded beside the folder, and moved into it once the folder is ours."""

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from regard.data.text.corpus import TOKENIZER, Corpus
from regard.text import Tokenizer
from regard.train import Ranks


@dataclass(frozen=True)
class Encoded:
    tokenizer: Tokenizer
    train: np.ndarray
    valid: np.ndarray
    keep: Callable[[], object]  # move the tokens into the run folder


@contextmanager
def encoded(corpus: Corpus, out: Path, ranks: Ranks, resume: bool) -> Iterator[Encoded]:
    """The tokens that the folder holds already, or new ones; where the run never begins, nothing of them stays."""
    kept, beside = out / "tokens", out.parent / f".{out.name}.tokens.part"
    place = kept if resume and kept.exists() else beside
    try:
        with ranks.first_only() as first:
            if first and place == beside:
                shutil.rmtree(beside, ignore_errors=True)
                corpus.encode(beside, own_tokenizer(out, resume))
        tokenizer = Tokenizer.load(place / TOKENIZER)
        train, valid = corpus.read(place)
        if ranks.first:
            tell_unknown(tokenizer, valid, "the text to measure by")
        yield Encoded(tokenizer, train, valid, lambda: None if place == kept else place.replace(kept))
    finally:
        if ranks.first:
            shutil.rmtree(beside, ignore_errors=True)


def own_tokenizer(out: Path, resume: bool) -> Tokenizer | None:
    """That of a run which is gone on with: its weights know the ids of no other."""
    return Tokenizer.load(out / TOKENIZER) if resume and (out / TOKENIZER).exists() else None


def tell_unknown(tokenizer: Tokenizer, tokens: np.ndarray, where: str) -> None:
    """A note on screen: a loss over what was never learned says little."""
    if unknown := tokenizer.count_unknown(tokens):
        print(f"note: {unknown:,} of {len(tokens):,} tokens of {where} never occur in training", file=sys.stderr)
