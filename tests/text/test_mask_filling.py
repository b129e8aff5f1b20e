"""Words put into filling, by every kind of tokenizer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.text import BPE, Bytes, Characters, MaskFilling, Tokenizer, Unigram, WordPiece

TEXT = "the cat sat on the mat. the cats sat, and sang (softly). a dog lay on the rug.\n" * 40
KINDS = {
    "characters": Characters(),
    "bytes": Bytes(),
    "bpe": BPE(vocab=400),
    "wordpiece": WordPiece(vocab=120),
    "unigram": Unigram(vocab=60),
}
TRAINED = {name: kind.train([TEXT]) for name, kind in KINDS.items()}
every_kind = pytest.mark.parametrize("tokenizer", TRAINED.values(), ids=TRAINED)


def token_after(tokenizer: Tokenizer, text: str) -> tuple[int, int]:
    """The last two tokens of a text."""
    [tokens] = tokenizer.encode([text])
    return tokens[-2], tokens[-1]


@pytest.mark.parametrize("name", ["bpe", "wordpiece", "unigram"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [("the cat sat on the [MASK].", "the cat sat on the cat."), ("The  ([MASK])", "The  (cat)"), ("[MASK]", "cat")],
)
def test_a_word_takes_the_place_of_its_gap_and_all_else_stays(name: str, text: str, expected: str):
    filling = MaskFilling(TRAINED[name])
    word = filling.word(*token_after(filling.tokenizer, "on the cat"))
    assert filling.fill(text, [word]) == expected


def test_the_rest_of_a_word_joins_what_is_before_it():
    filling = MaskFilling(TRAINED["wordpiece"])
    more = filling.tokenizer.engine.token_to_id("##s")
    [cat] = filling.tokenizer.encode(["cat"])[0]
    assert filling.fill("the cat [MASK] sat", [filling.word(cat, more)]) == "the cats sat"
    assert filling.label(cat, more) == "##s"
    assert filling.label(filling.tokenizer.start, more) == "##s"
    bpe = MaskFilling(TRAINED["bpe"])
    assert bpe.fill("they sat [MASK] and", [bpe.word(*token_after(bpe.tokenizer, "sat,"))]) == "they sat, and"
    assert bpe.label(*token_after(bpe.tokenizer, "sat,")) == ",", "a sign needs no mark"


@pytest.mark.parametrize("name", ["characters", "bytes"])
def test_where_a_space_is_a_token_it_stays_and_may_be_filled_in(name: str):
    filling = MaskFilling(TRAINED[name])
    assert filling.fill("the [MASK]at", [filling.word(*token_after(filling.tokenizer, " c"))]) == "the cat"
    assert filling.fill("the[MASK]cat", [filling.word(*token_after(filling.tokenizer, "e "))]) == "the cat"
    assert len(filling.encode(["the [MASK]"])[0]) == 4 + 1 + 2


@every_kind
def test_tokens_around_a_gap_are_those_of_the_whole_text(tokenizer: Tokenizer):
    """Hide a token of a text by hand: the text with a gap there gives the same tokens."""
    filling = MaskFilling(tokenizer)
    [whole] = tokenizer.encode(["the cat sat on the mat"])
    [row] = filling.encode(["the cat [MASK] on the mat" if filling.marks_words else "the cat [MASK]at on the mat"])
    place = row.index(tokenizer.mask)
    assert row == [tokenizer.start, *whole[: place - 1], tokenizer.mask, *whole[place:], tokenizer.end]


@every_kind
def test_what_may_stand_in_a_gap_is_one_visible_piece_of_a_line(tokenizer: Tokenizer):
    filling = MaskFilling(tokenizer)
    assert not any(filling.fits[token] for token in tokenizer.special)
    assert sum(filling.fits) > 20
    for token in (token for token, fits in enumerate(filling.fits) if fits):
        word, _ = filling.word(tokenizer.start, token)
        assert len((word + "x").splitlines()) == 1
        assert "\t" not in word
        assert word.strip() or not filling.marks_words


@pytest.mark.parametrize("name", ["bpe", "wordpiece", "unigram"])
def test_after_a_space_only_a_word_may_begin(name: str):
    filling = MaskFilling(TRAINED[name])
    text = "[MASK] cat [MASK] on[MASK] the [MASK] [MASK]"
    begins = [own == filling.begins_word for own in filling.allowed(text)]
    assert begins == [False, True, False, True, True], "the first of a text follows nothing"
    for token in (token for token, may in enumerate(filling.begins_word) if may):
        [before] = filling.tokenizer.encode(["cat"])[0][-1:]
        assert not filling.word(before, token)[1] or not filling.word(before, token)[0].isalnum()


def test_where_spaces_are_letters_gaps_take_anything():
    filling = MaskFilling(TRAINED["characters"])
    assert filling.allowed("a [MASK]") == [filling.fits]


@every_kind
def test_special_tokens_cannot_be_typed(tokenizer: Tokenizer):
    for text in ("<s>", "a<mask>b", "</s> <pad>", "<unk>"):
        [row] = tokenizer.encode([text])
        assert not {tokenizer.start, tokenizer.end, tokenizer.pad, tokenizer.mask} & set(row), text


@every_kind
@given(texts=st.lists(st.text(alphabet=st.sampled_from("cat sn.[MASK]<s>"), max_size=20), min_size=1, max_size=4))
def test_there_is_a_mask_token_for_each_gap_and_nothing_else_is_special(tokenizer: Tokenizer, texts: list[str]):
    filling = MaskFilling(tokenizer)
    for text, row in zip(texts, filling.encode(texts), strict=True):
        assert row.count(tokenizer.mask) == text.count("[MASK]")
        assert row.count(tokenizer.start) == row.count(tokenizer.end) == 1
        assert filling.fill(text, [("[MASK]", False)] * text.count("[MASK]")) == text
