"""A tokenizer.json of one's own: used as it is, with the special tokens that it lacks."""

import json
from pathlib import Path

import pytest
from tokenizers import Tokenizer as Engine
from tokenizers import decoders, models, pre_tokenizers, trainers

from regard.core.errors import UserError
from regard.store import read_config
from regard.text import BPE, Tokenizer, TokenizerFile, WordPiece
from tests.command import regard


def plain(path: Path) -> Engine:
    """As another library would write it: no special token at all."""
    engine = Engine(models.BPE())
    engine.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    engine.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet, show_progress=False)
    engine.train_from_iterator(["the cat sat on the mat"] * 9, trainer)
    engine.save(str(path))
    return engine


def test_tokens_are_the_file_s_and_special_ones_come_after(tmp_path):
    engine = plain(tmp_path / "tokenizer.json")
    given = TokenizerFile(str(tmp_path / "tokenizer.json")).train(["quite other text"])
    text = "the cat <s> sat"
    assert given.encode([text])[0] == engine.encode(text).ids
    assert given.decode(given.encode([text])) == [text]
    assert len({given.pad, given.start, given.end, given.mask}) == 4
    assert min(given.pad, given.start, given.end) >= engine.get_vocab_size()


def test_a_tokenizer_of_ours_is_unchanged(tmp_path):
    ours = BPE(vocab=300).train(["the cat sat"])
    ours.save(tmp_path / "tokenizer.json")
    assert Tokenizer.load_external(tmp_path / "tokenizer.json").vocab == ours.vocab


def test_numbers_that_a_file_leaves_out_are_counted(tmp_path):
    engine = Engine(models.WordLevel({"<unk>": 0, "cat": 7}, unk_token="<unk>"))
    engine.save(str(tmp_path / "tokenizer.json"))
    given = TokenizerFile(str(tmp_path / "tokenizer.json")).train([])
    assert given.vocab == 1 + max(given.pad, given.start, given.end, given.mask, 7)


@pytest.mark.parametrize("content", [None, "", "{}", "[1, 2]"])
def test_what_is_no_tokenizer_is_named(content, tmp_path):
    path = tmp_path / "tokenizer.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(UserError, match=r"tokenizer\.json: "):
        TokenizerFile(str(path)).train([])


def test_the_command_line_takes_one(tmp_path):
    plain(tmp_path / "mine.json")
    (tmp_path / "text.txt").write_text("the cat sat on the mat\n" * 40)
    words = ["--data", tmp_path / "text.txt", "--tokenizer", tmp_path / "mine.json", "--out", tmp_path / "run"]
    small = ["--steps", 2, "--model.width", 16, "--model.layers", 1, "--model.heads", 2, "--data.length", 8]
    assert regard("train", "lm", *words, *small) == 0
    assert read_config(tmp_path / "run")["data"]["tokenizer"]["file"] == str(tmp_path / "mine.json")
    made = Tokenizer.load(tmp_path / "run" / "tokenizer.json")
    assert made.encode(["the mat"]) == Tokenizer.load_external(tmp_path / "mine.json").encode(["the mat"])


def test_a_vocabulary_without_its_unknown_token_is_refused_in_one_line(tmp_path):
    tokenizer = WordPiece(vocab=60).train(["the cat sees a dog"] * 20)
    written = json.loads(tokenizer.engine.to_str())
    written["model"]["unk_token"] = "nowhere"
    (tmp_path / "tokenizer.json").write_text(json.dumps(written))
    broken = Tokenizer.load(tmp_path / "tokenizer.json")
    for use in (broken.encode, broken.offsets):
        with pytest.raises(UserError, match=r"^the tokenizer cannot encode this text \(.*[Uu][Nn][Kk].*\)$"):
            use(["the cat ☃"])


@pytest.mark.parametrize("load", [Tokenizer.load, Tokenizer.load_external])
def test_what_the_library_quotes_stays_on_one_line(load, tmp_path):
    plain(tmp_path / "tokenizer.json")
    written = json.loads((tmp_path / "tokenizer.json").read_text())
    written["pre_tokenizer"] = {"type": "Split", "pattern": {"String": "a"}, "behavior": "two\nlines", "invert": False}
    (tmp_path / "tokenizer.json").write_text(json.dumps(written))
    with pytest.raises(UserError, match="is not a tokenizer \\(") as caught:
        load(tmp_path / "tokenizer.json")
    assert "two lines" in str(caught.value)
    assert "\n" not in str(caught.value)
