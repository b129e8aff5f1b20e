"""Text decoded as its tokens come is the text decoded at the end, and a step decodes few tokens."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer as Engine
from tokenizers import decoders, models

from regard.decode import TextStream, continuation
from regard.decode.text_stream import StoppableText
from regard.text import BPE, Bytes, Characters, SpecialTokens, Tokenizer, Unigram, WordPiece

TEXTS = [
    "the cat sat on the mat, didn't it?",
    "über den Wolken – 雲の上 🙂",
    "to be, or not to be: that is the question.",
] * 9


def with_single_bytes() -> Tokenizer:
    """As the Llama kind: pieces of words, and single bytes for characters that have none."""
    pieces = ["<pad>", "<s>", "</s>", "▁", "▁the", "▁cat", "s", "a", "é"]
    vocab = {piece: number for number, piece in enumerate([*pieces, *(f"<0x{byte:02X}>" for byte in range(256))])}
    engine = Engine(models.BPE(vocab=vocab, merges=[], byte_fallback=True))
    engine.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    engine.add_special_tokens(["<pad>", "<s>", "</s>"])
    return Tokenizer(engine, SpecialTokens(0, 1, 2))


TOKENIZERS = {
    "characters": Characters().train(TEXTS),
    "bytes": Bytes().train(TEXTS),
    "byte-level BPE": BPE(400).train(TEXTS),
    "WordPiece": WordPiece(200).train(TEXTS),
    "SentencePiece": Unigram(120).train(TEXTS),
    "single bytes": with_single_bytes(),
}


def streamed(tokenizer: Tokenizer, prompt: list[int], written: list[int]) -> str:
    text = TextStream(tokenizer, prompt)
    return "".join([*(text.add(token) for token in written), text.rest()])


@pytest.mark.parametrize("name", TOKENIZERS)
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_it_is_the_text_of_all_tokens(name: str, data: st.DataObject) -> None:
    """Of any tokens: a model that has learned little writes parts of characters, and special tokens anywhere."""
    tokenizer = TOKENIZERS[name]
    tokens = st.lists(st.integers(0, tokenizer.vocab - 1), max_size=30)
    prompt, written = data.draw(tokens), data.draw(tokens)
    assert streamed(tokenizer, prompt, written) == continuation(tokenizer, prompt, written)


@pytest.mark.parametrize("name", TOKENIZERS)
@settings(max_examples=50, deadline=None)
@given(text=st.text(st.sampled_from("the cat 雲🙂é,.'n–ü"), max_size=40), cut=st.integers(0, 40))
def test_it_is_the_text_that_was_cut(name: str, text: str, cut: int) -> None:
    tokenizer = TOKENIZERS[name]
    [tokens] = tokenizer.encode([text])
    prompt, written = tokens[:cut], tokens[cut:]
    assert streamed(tokenizer, prompt, written) == continuation(tokenizer, prompt, written)


def test_a_step_decodes_few_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer, longest = TOKENIZERS["byte-level BPE"], []
    decode = Tokenizer.decode
    monkeypatch.setattr(
        Tokenizer, "decode", lambda self, rows: longest.append(max(map(len, rows))) or decode(self, rows)
    )
    [tokens] = tokenizer.encode(["to be, or not to be: that is the question. " * 50])
    assert streamed(tokenizer, tokens[:100], tokens[100:])
    assert max(longest) <= 10


@pytest.mark.parametrize("name", TOKENIZERS)
def test_a_stop_text_is_held_back_whole_and_nothing_else(name: str) -> None:
    tokenizer = TOKENIZERS[name]
    [tokens] = tokenizer.encode(["the cat sat on the mat"])
    whole = continuation(tokenizer, [], tokens)
    for stop in (("cat s", "zebra"), (whole[0],), ("never",), ()):
        text, pieces = StoppableText(tokenizer, [], stop), []
        for token in tokens:
            pieces.append(text.add(token))
            if text.stopped:
                break
        ends = [whole.index(one) for one in stop if one in whole]
        assert text.stopped == bool(ends)
        assert "".join(pieces) + ("" if ends else text.rest()) == whole[: min(ends, default=len(whole))]
