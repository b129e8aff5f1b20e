"""Which tokenizer texts ask for."""

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.core.errors import ConfigError
from regard.text import BPE, Auto, Characters

SENTENCES = ["the dog sees a cat", "a cat sleeps", "two dogs play in the park", "a man sees the dog", "dogs sleep"] * 20


def pairs(write) -> list[str]:  # type: ignore[no-untyped-def]
    rng = random.Random(0)
    numbers = rng.sample(range(100_000), 300)
    return [text for number in numbers for text in (rng.choice(SENTENCES), write(number))]


@pytest.mark.parametrize(
    "write", [str, lambda n: f"{n:017b}", lambda n: f"{n} + {n + 7}"], ids=["digits", "bits", "sums"]
)
def test_numbers_on_one_side_are_cut_into_characters(write, caplog: pytest.LogCaptureFixture):  # type: ignore[no-untyped-def]
    caplog.set_level("INFO", "regard")
    texts = pairs(write)
    tokenizer = Auto(300).train(iter(texts))
    assert tokenizer.encode(texts) == Characters().train(texts).encode(texts)
    assert "--data.tokenizer BPE" in caplog.text


def test_sentences_are_cut_into_pieces(caplog: pytest.LogCaptureFixture):
    caplog.set_level("INFO", "regard")
    tokenizer = Auto(300).train(iter(SENTENCES))
    assert tokenizer.encode(SENTENCES) == BPE(300).train(SENTENCES).encode(SENTENCES)
    assert caplog.text == ""


@given(st.lists(st.text(max_size=12), max_size=30))
def test_whatever_it_chooses_writes_the_texts_it_was_trained_on(texts: list[str]):
    tokenizer = Auto(300).train(texts)
    assert tokenizer.decode(tokenizer.encode(texts)) == texts


@pytest.mark.parametrize("write", [lambda n: chr(0x4E00 + n % 500) * 9, lambda n: chr(0xE01 + n % 40) * (n % 17 + 9)],
                         ids=["Chinese", "Thai"])  # fmt: skip
def test_what_is_written_without_blanks_is_no_code(write, caplog: pytest.LogCaptureFixture):  # type: ignore[no-untyped-def]
    caplog.set_level("INFO", "regard")
    Auto(600).train(pairs(write))
    assert caplog.text == ""


def test_few_lines_of_prose_are_prose(caplog: pytest.LogCaptureFixture):
    caplog.set_level("INFO", "regard")
    lines = (Path(__file__).parents[2] / "docs" / "limits.md").read_text().splitlines()
    prose = [line for line in lines if len(line.split()) > 10]
    assert len(prose) < 100
    Auto(300).train(prose)
    assert caplog.text == ""


def test_a_vocabulary_too_small_is_refused():
    with pytest.raises(ConfigError, match="vocab: must be at least"):
        Auto(3)
