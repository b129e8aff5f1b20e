"""SentencePiece models: tokens and texts as of the `sentencepiece` package, and damage reported in one line."""

import random
import unicodedata
from pathlib import Path

import pytest
from tokenizers import Tokenizer as Engine

from regard.core.errors import UserError
from regard.text.spm_charsmap import check_charsmap
from regard.text.spm_engine import build_engine
from regard.text.spm_file import parse_spm, read_spm
from tests.text.spm import KINDS, text, trained

sentencepiece = pytest.importorskip("sentencepiece", reason="the extra dev has it")


def spiced(rng: random.Random, kind: str) -> str:
    """A text with spaces, line breaks, names of symbols, decomposed accents or signs of pieces in unusual places."""
    plain = text(rng, known=rng.choice([0.0, 0.8]))
    return rng.choice(
        [
            plain,
            f"  {plain}   {text(rng, 0.5)} ",
            f"{plain} <s> </s><unk> <0x0A> <ctl> x",
            plain.replace(" ", "\n", 1).replace(" ", "\t", 1),
            f"{plain}▁foo <sep>foo (",
            f"<sep>{plain}    foo",
            unicodedata.normalize("NFC" if "lower" in kind else "NFD", "Über naïve cafés: Ελλάδα"),
            "",
        ]
    )


@pytest.mark.parametrize("kind", KINDS)
def test_tokens_are_those_of_sentencepiece(kind: str) -> None:
    theirs = sentencepiece.SentencePieceProcessor(model_proto=trained(kind))
    engine = build_engine(parse_spm(trained(kind)))
    engine = Engine.from_str(engine.to_str())  # as a tokenizer.json would have it
    engine.encode_special_tokens = True
    assert [engine.id_to_token(number) for number in range(len(theirs))] == [
        theirs.id_to_piece(number) for number in range(len(theirs))
    ]
    rng, ties = random.Random(7), 0
    for given in (spiced(rng, kind) for _ in range(1000)):
        tokens = engine.encode(given, add_special_tokens=False).ids
        if tokens != theirs.encode(given):  # III and I, or I and III: the same pieces have the same score in any order
            assert kind.startswith("unigram")
            assert sorted(tokens) == sorted(theirs.encode(given)), given
            ties += 1
        if theirs.unk_id() not in tokens:  # which sentencepiece writes as a question mark
            assert engine.decode(tokens) == theirs.decode(tokens)
    assert ties <= 2


def test_names_of_symbols_are_symbols_where_a_model_reads_them_so() -> None:
    engine = build_engine(parse_spm(trained("llama")))
    first, *_, last = engine.encode("<s>Two dogs</s>", add_special_tokens=False).ids
    assert (first, last) == (1, 2)


@pytest.mark.parametrize("kind", ["unigram, bytes", "llama"])
def test_a_damaged_file_is_one_line(kind: str, tmp_path: Path) -> None:
    """Whatever is cut off or overwritten: a model that can be used, or one line that names the file."""
    whole, file, rng = trained(kind), tmp_path / "spiece.model", random.Random(3)
    messages = []
    for attempt in range(300):
        data = bytearray(whole)
        if attempt % 3 == 0:
            del data[rng.randrange(len(data)) :]
        else:
            near = rng.choice([len(data), 60, 4000])
            for _ in range(rng.randint(1, 6)):
                data[rng.randrange(near)] = rng.randrange(256)
        file.write_bytes(data)
        try:
            engine = build_engine(read_spm(file))
            engine.encode("Two dogs “play” ½ ｶﾞ é <s>")
        except UserError as error:
            messages.append(str(error))
    assert len(messages) > 100
    assert all(message.startswith(str(file)) and "\n" not in message for message in messages)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "it has no pieces"),
        (b"\x0a\x0e", "in the middle of a field"),
        (b"\xff" * 12, "a number without an end"),
        (b"\x0b", "begins no field"),
        (b"\x08\x01", "a field that should hold bytes"),
        (b"\x0a\x03\x0a\x01a", "must be the unknown one"),
        (b"\x0a\x03\x0a\x01a" * 2, "two of its pieces are the same"),
        (b"\x0a\x03\x0a\x01\xff", "is not UTF-8"),
        (b"\x0a\x05\x0a\x01a\x18\x02\x12\x02\x18\x03", "cuts texts into words"),
        (b"\x0a\x05\x0a\x01a\x18\x02\x12\x03\xc0\x01\x01", "treat_whitespace_as_suffix"),
        (b"\x0a\x05\x0a\x01a\x18\x02\x12\x03\x98\x02\x01", "does not have all 256"),
        (b"\x0a\x05\x0a\x01a\x18\x02\x1a\x02\x28\x00", "escape_whitespaces"),
        (b"\x0a\x05\x0a\x01a\x18\x02\x1a\x04\x12\x02ab", "cut short"),
    ],
)
def test_what_cannot_be_read_is_told(data: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.model").write_bytes(data)
    with pytest.raises(UserError, match=message):
        read_spm(tmp_path / "tokenizer.model")


def test_a_trie_that_leads_out_of_the_file_is_refused() -> None:
    charsmap = parse_spm(trained("unigram")).charsmap
    check_charsmap(charsmap)
    size, rng, refused = int.from_bytes(charsmap[:4], "little"), random.Random(1), 0
    for _ in range(100):
        data = bytearray(charsmap)
        place = 4 + 4 * rng.randrange(size // 4)
        data[place : place + 4] = rng.randbytes(4)
        try:
            check_charsmap(bytes(data))
        except ValueError:
            refused += 1
    assert 5 < refused < 100  # most units belong to no path
