"""The vocabulary of a model follows from the data's tokenizer."""

from dataclasses import replace
from typing import Any

from regard.core.errors import ConfigError
from regard.models import Model
from regard.text import Tokenizer


def with_vocab(model: Any, tokenizer: Tokenizer) -> Model:
    """The model with the tokenizer's vocabulary; one that was given must be large enough."""
    if model.vocab and model.vocab < tokenizer.vocab:
        raise ConfigError(
            f"model.vocab: {model.vocab} is smaller than the {tokenizer.vocab} tokens of the data; leave it out"
        )
    return replace(model, vocab=model.vocab or tokenizer.vocab)
