"""Tokenizers refuse what cannot be meant."""

import pytest

from regard.core.errors import ConfigError
from regard.text import Characters, check_vocab

TOKENIZER = Characters().train(["abc"])


@pytest.mark.parametrize("method", ["encode", "offsets"])
def test_one_string_in_place_of_a_list_is_refused(method: str):
    with pytest.raises(ConfigError, match=r"a list of strings is needed, not one string; write \[text\]"):
        getattr(TOKENIZER, method)("abc")
    assert getattr(TOKENIZER, method)([]) == []


def test_a_model_needs_an_embedding_for_every_token():
    check_vocab(TOKENIZER.vocab, TOKENIZER)
    check_vocab(100, TOKENIZER)
    with pytest.raises(ConfigError, match=r"model\.vocab: 7 is smaller than the tokenizer's vocabulary of 8 tokens"):
        check_vocab(7, TOKENIZER)
