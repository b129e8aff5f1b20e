"""Running text in pieces: the tokens of the pieces are the tokens of the whole."""

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data.text import lines
from regard.data.text.corpus import Corpus
from regard.data.text.documents import Documents
from regard.data.text.lines import read_pieces, word_boundary
from regard.data.text.tokens import read_tokens, write_tokens
from regard.text import BPE, Bytes, Characters, Tokenizer, Unigram, WordPiece

PROSE = "It's the cat's mat, isn't it?  Größe 12.5 €!\n\nWe'll see…\tnaïve café\r\nend  of   lines \n then 日本 more. "
TOKENIZERS = {
    type(config).__name__: config.train([PROSE] * 20)
    for config in (Characters(), Bytes(), BPE(vocab=340), WordPiece(vocab=120), Unigram(vocab=80))
}
every_tokenizer = pytest.mark.parametrize("name", TOKENIZERS)


def whole(tokenizer: Tokenizer, text: str) -> list[int]:
    return tokenizer.encode([text])[0]


def in_pieces(tokenizer: Tokenizer, pieces: list[str]) -> list[int]:
    return [token for tokens in tokenizer.encode(pieces) for token in tokens]


@every_tokenizer
@settings(max_examples=200)
@given(text=st.text(st.sampled_from("ab'st é日1.,!?-\n\t\r \u00a0\u0301 \x1c"), max_size=40))
def test_a_cut_at_a_word_boundary_changes_no_token(name: str, text: str):
    cut = word_boundary(text)
    if cut and (name != "Unigram" or text[cut] == " "):  # SentencePiece has no boundary but the space
        tokenizer = TOKENIZERS[name]
        assert in_pieces(tokenizer, [text[:cut], text[cut:]]) == whole(tokenizer, text)


@pytest.mark.parametrize(
    ("text", "cut"),
    [("", 0), ("word", 0), ("a b", 1), ("a b ", 1), ("a  b", 2), ("a\nb", 1), ("a b\nc", 1), (" b", 0), ("a \n", 0)],
)
def test_where_a_text_can_be_cut(text: str, cut: int):
    assert word_boundary(text) == cut


@every_tokenizer
@settings(max_examples=25)
@given(words=st.lists(st.sampled_from(PROSE.split()), min_size=1, max_size=60), chunk=st.integers(1, 12))
def test_a_file_in_pieces_has_the_tokens_of_the_whole(
    name: str, words: list[str], chunk: int, tmp_path_factory: pytest.TempPathFactory
):
    rng = random.Random(len(words))
    text = "".join(word + rng.choice([" ", "  ", "\n ", " \t "]) for word in words)
    path = tmp_path_factory.mktemp("text") / "a.txt"
    path.write_bytes(text.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "CHUNK", chunk)
        patch.setattr(lines, "MAX_PIECE", 200)
        pieces = [piece.text for piece in read_pieces(path)]
        write_tokens(Documents((str(path),)).pieces(), TOKENIZERS[name], path.with_name("tokens"))
    assert "".join(pieces) == text
    expected = whole(TOKENIZERS[name], text)
    assert in_pieces(TOKENIZERS[name], pieces) == expected
    assert read_tokens(path.with_name("tokens")).tolist() == expected


def test_a_word_at_the_edge_of_a_chunk_is_not_cut(tmp_path: Path):
    """The word lies across the first chunk as it is read from the disk."""
    text = "x" * 10 + " " + "the cat " * (lines.CHUNK // 8) + "sat on the mat"
    (tmp_path / "a.txt").write_text(text)
    tokenizer = BPE(vocab=300).train(["the cat sat on the mat"] * 10)
    assert len(list(read_pieces(tmp_path / "a.txt"))) > 1
    write_tokens(Documents((str(tmp_path / "a.txt"),)).pieces(), tokenizer, tmp_path / "tokens")
    assert read_tokens(tmp_path / "tokens").tolist() == whole(tokenizer, text)


def test_one_endless_line_is_cut_anyway(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(lines, "CHUNK", 100)
    monkeypatch.setattr(lines, "MAX_PIECE", 400)
    (tmp_path / "a.txt").write_text("x" * 10_000)
    pieces = [piece.text for piece in read_pieces(tmp_path / "a.txt")]
    assert "".join(pieces) == "x" * 10_000
    assert max(map(len, pieces)) <= 600, "memory is bounded"
    assert caplog.text.count("no whitespace in") == 1


def test_a_small_file_is_one_piece(tmp_path: Path):
    (tmp_path / "a.txt").write_text(PROSE)
    assert [piece.text for piece in read_pieces(tmp_path / "a.txt")] == [PROSE.replace("\r\n", "\r\n")]


def test_a_window_longer_than_the_text_is_refused_with_both_numbers(tmp_path: Path):
    (tmp_path / "a.txt").write_text("abcdefghij" * 10)
    corpus = Corpus(files=(str(tmp_path / "a.txt"),), length=90)
    corpus.encode(tmp_path / "tokens")
    with pytest.raises(lines.UserError, match=r"data\.length: a window of 90 tokens .* has 90 tokens .* 89 or less"):
        corpus.read(tmp_path / "tokens")
    train, valid = Corpus(files=(str(tmp_path / "a.txt"),), length=89).read(tmp_path / "tokens")
    assert (len(train), len(valid)) == (90, 10), "a short validation text is one shorter window"
