"""Tagged sentences: both formats, what is wrong with a file, and words laid over tokens."""

import gzip
import os
import re
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.core.errors import ConfigError, UserError
from regard.data.text.tagged import TaggedFiles, check_tag_labels, is_conllu, read_tagged, tag_labels
from regard.data.text.tagged_batches import TaggedTexts, encode_tagged, encode_words
from regard.data.trees.conllu import read_trees
from regard.text import BPE, Bytes, Characters, Unigram, WordPiece

TREEBANK = """\
# sent_id = 1
1\tHe\the\tPRON\tPRP\tCase=Nom\t2\tnsubj\t_\t_
2-3\tdidn't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
2\tdid\tdo\tAUX\tVBD\tTense=Past\t0\troot\t_\t_
3\tn't\tnot\tPART\tRB\t_\t2\tadvmod\t_\t_
3.1\tgo\tgo\tVERB\tVB\t_\t_\t_\t_\t_
4\t.\t.\tPUNCT\t.\t_\t2\tpunct\t_\t_

1\t20 000\t20000\tNUM\tCD\t_\t0\troot\t_\t_
"""
NAMES = "-DOCSTART- -X- O O\n\n# a comment\nEU NNP B-NP B-ORG\nrejects VBZ B-VP O\n\n\n# DT\n# SYM X O\n. . O O\n"


def write(path: Path, text: str) -> Path:
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.parametrize(
    ("column", "labels"),
    [
        ("upos", ("PRON", "AUX", "PART", "PUNCT")),
        ("xpos", ("PRP", "VBD", "RB", ".")),
        ("lemma", ("he", "do", "not", ".")),
        ("feats", ("Case=Nom", "Tense=Past", "_", "_")),
        ("deprel", ("nsubj", "root", "advmod", "punct")),
    ],
)
@pytest.mark.parametrize("name", ["a.conllu", "a.conllu.gz", "a.txt", "a.txt.gz"])
def test_any_column_of_conllu_is_a_label(name: str, column: str, labels: tuple[str, ...], tmp_path: Path):
    path = write(tmp_path / name, TREEBANK)
    first, second = read_tagged(path, column)
    assert first.words == ("He", "did", "n't", "."), "the words of a multiword token, and no empty nodes"
    assert first.labels == labels
    assert first.where == f"{path}, line 2"
    assert second.words == ("20 000",)


def test_a_tree_has_every_column_by_name(tmp_path: Path):
    parse, _ = read_trees([write(tmp_path / "a.conllu", TREEBANK)])
    assert parse.columns["form"] == ("He", "did", "n't", ".")
    assert parse.columns["lemma"] == ("he", "do", "not", ".")
    assert parse.columns["upos"] == ("PRON", "AUX", "PART", "PUNCT")
    assert parse.columns["feats"] == ("Case=Nom", "Tense=Past", "_", "_")
    assert parse.columns["deprel"] == parse.relations
    assert set(parse.columns) == {"id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc"}
    assert parse.words == ("He", "didn't", "."), "the surface tokens"


def test_words_and_labels_in_columns(tmp_path: Path):
    path = write(tmp_path / "names.txt", NAMES.replace("# DT\n", ""))
    assert not is_conllu(path)
    first, second = read_tagged(path)
    assert (first.words, first.labels) == (("EU", "rejects"), ("B-ORG", "O"))
    assert first.where == f"{path}, line 4"
    assert second.words == (".",), "a line that begins with # before the first word of a sentence is a comment"
    tabs = write(tmp_path / "tabs.tsv.gz", "\ufeff#fun\tTAG\r\n20 000\tNUM\r\n#\tSYM\r\n\r\nend\tX")
    first, second = read_tagged(tabs)
    assert (first.words, first.labels) == (("#fun", "20 000", "#"), ("TAG", "NUM", "SYM"))
    assert second.words == ("end",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no tagged sentences"),
        ("# only a comment\n", "no tagged sentences"),
        ("-DOCSTART- O\n", "no tagged sentences"),
        ("a X\nb\n", "line 2: a word and its label are needed"),
        ("a\tX\nb\t\n", "line 2: a word and its label are needed"),
        ("a\tX\n\tY\n", "line 2: a word and its label are needed"),
        ("a X\n\nb Y Z\n", "line 3: has 3 columns, the lines before it 2"),
        ("a X\n\xff", "line 2: is not UTF-8"),
        (TREEBANK.replace("\tPRON\t", "\t"), "line 3: has 10 columns, the lines before it 9"),
    ],
)
def test_bad_files_are_named_by_line(text: str, message: str, tmp_path: Path):
    (tmp_path / "a.txt").write_bytes(text.encode("latin-1"))
    with pytest.raises(UserError, match=message) as error:
        read_tagged(tmp_path / "a.txt")
    assert str(error.value).startswith(str(tmp_path / "a.txt"))


def test_bad_conllu_is_named_by_line(tmp_path: Path):
    with pytest.raises(UserError, match=r"line 3: has 9 columns between tabs, not the 10 of CoNLL-U"):
        read_tagged(write(tmp_path / "a.conllu", TREEBANK.replace("2-3\tdidn't", "2-3")))
    with pytest.raises(UserError, match="the column upos is empty for every word; choose another"):
        read_tagged(write(tmp_path / "b.conllu", "1\ta" + "\t_" * 8 + "\n"))


def test_words_without_heads_can_be_tagged(tmp_path: Path):
    row = "1\ta\t_\tX\t_\t_\t_\t_\t_\t_\n"
    assert read_tagged(write(tmp_path / "a.conllu", row))[0].labels == ("X",), "a tree is not needed"


def test_settings(tmp_path: Path):
    path = str(write(tmp_path / "a.conllu", (TREEBANK + "\n") * 10))
    train, valid = TaggedFiles(train=(path,), valid_fraction=0.25).sentences()
    assert (len(train), len(valid)) == (15, 5)
    again, _ = TaggedFiles(train=(path,), valid_fraction=0.25).sentences()
    assert train == again
    train, valid = TaggedFiles(train=(path, path), valid=(path,), column="xpos").sentences()
    assert (len(train), len(valid)) == (40, 20)
    assert tag_labels(train) == (".", "CD", "PRP", "RB", "VBD")
    with pytest.raises(ConfigError, match="column: 'pos' is not a label column of CoNLL-U; did you mean 'xpos'"):
        TaggedFiles(train=(path,), column="pos")
    with pytest.raises(ConfigError, match="train: at least one file"):
        TaggedFiles(train=())
    one = str(write(tmp_path / "one.txt", "a X\nb Y\n"))
    with pytest.raises(UserError, match="has one sentence, so none can be held out; use --valid"):
        TaggedFiles(train=(one,)).sentences()
    with pytest.raises(UserError, match="every word has the label 'X'"):
        tag_labels(read_tagged(write(tmp_path / "x.txt", "a X\n")))
    with pytest.raises(UserError, match=r"one.txt, line 1: the label 'Y' of 'b' does not occur in the training files"):
        check_tag_labels(read_tagged(Path(one)), ("X", "Z"))


WORDS = ["He", "didn't", "20 000", "Größe", "日本", "!", "antidisestablishment"]
TOKENIZERS = {
    type(config).__name__: config.train([" ".join(WORDS)] * 5)
    for config in (Characters(), Bytes(), BPE(vocab=300), WordPiece(vocab=60), Unigram(vocab=60))
}


@pytest.mark.parametrize("name", TOKENIZERS)
@given(words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=8), max_length=st.integers(3, 80))
def test_every_word_has_its_first_token(name: str, words: list[str], max_length: int):
    tokenizer = TOKENIZERS[name]
    [(tokens, first)] = encode_words([words], tokenizer, max_length)
    assert len(tokens) <= max_length
    assert (tokens[0], tokens[-1]) == (tokenizer.start, tokenizer.end)
    assert first == sorted(set(first)), "each word at a token of its own"
    assert all(1 <= position < len(tokens) - 1 for position in first)
    whole = encode_words([words], tokenizer, 10_000)[0]
    assert len(whole.first) == len(words)
    assert first == [position for position in whole.first if position <= max_length - 2], "what fits"
    if name == "WordPiece":
        for (start, end), word in zip(
            zip(whole.first, [*whole.first[1:], len(whole.tokens) - 1], strict=True), words, strict=True
        ):
            assert whole.tokens[start:end] == tokenizer.encode([word])[0]


def test_batches_hold_every_word_once(tmp_path: Path):
    sentences = read_tagged(write(tmp_path / "a.conllu", (TREEBANK + "\n") * 3))
    labels = tag_labels(sentences)
    tokenizer = TOKENIZERS["Characters"]
    data = TaggedTexts(encode_tagged(sentences, labels, tokenizer, 128), tokenizer, batch=4)
    batches = list(data.once())
    assert [batch.rows for batch in batches] == [4, 2]
    seen = [labels[label] for batch in batches for label in batch.label[batch.label_valid].tolist()]
    assert seen == [label for sentence in sentences for label in sentence.labels]
    batch = data.batch(0)
    assert torch.equal(batch.shard(1, 2).first, batch.first[1::2])
    assert (batch.first.gather(1, batch.first * 0) >= 1).all()


TREEBANKS = Path(os.environ.get("REGARD_TREEBANKS", "nowhere")) / "ud_en_ewt"


@pytest.mark.skipif(not TREEBANKS.is_dir(), reason="REGARD_TREEBANKS names no folder with ud_en_ewt")
@pytest.mark.parametrize(("split", "sentences"), [("train", 12544), ("dev", 2001), ("test", 2077)])
def test_ud_english_ewt(split: str, sentences: int):
    """Sentences as its page says, words as a plain search for their numbers finds them."""
    path = TREEBANKS / f"{split}.conllu.gz"
    parsed = read_tagged(path)
    assert len(parsed) == sentences
    rows = re.findall(r"^\d+\t", gzip.decompress(path.read_bytes()).decode(), re.MULTILINE)
    assert sum(len(sentence.words) for sentence in parsed) == len(rows)
    assert len(tag_labels(parsed)) in (17, 18), "the universal parts of speech, and _ where one is missing"
