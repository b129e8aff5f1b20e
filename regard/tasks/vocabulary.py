"""The vocabulary of a model follows from the tokenizer of its data."""

from dataclasses import replace
from typing import Any

from regard.models import Model
from regard.text import Tokenizer, check_vocab


def with_vocab(model: Any, tokenizer: Tokenizer) -> Model:
    """The model with the tokenizer's vocabulary; one that was given must be large enough."""
    vocab = model.vocab or tokenizer.vocab
    check_vocab(vocab, tokenizer)
    return replace(model, vocab=vocab)
