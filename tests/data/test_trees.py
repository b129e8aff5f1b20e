"""Dependency trees: read from CoNLL-U, laid under texts and tokens, and every way in which they can be wrong."""

import gzip
from collections import deque
from contextlib import suppress
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.core.errors import UserError
from regard.data.text.labelled import LabelledTexts
from regard.data.text.pairs import Pairs, source_trees
from regard.data.trees.conllu import Parse, match_trees, read_trees
from regard.data.trees.tree_positions import TokenTree, pad_trees, token_trees
from regard.text import BPE, Bytes, Characters, Unigram, WordPiece
from tests.conllu import chain, conllu
from tests.helpers import random_heads

TREEBANK = """\
# newdoc id = d
# sent_id = first
# text = Parla dei fatti, no?
1\tParla\tparlare\tVERB\t_\t_\t0\troot\t_\t_
2-3\tdei\t_\t_\t_\t_\t_\t_\t_\t_
2\tdi\tdi\tADP\t_\t_\t4\tcase\t_\t_
3\ti\til\tDET\t_\t_\t4\tdet\t_\t_
4\tfatti\tfatto\tNOUN\t_\t_\t1\tobl\t_\tLang=it|SpaceAfter=No
5\t,\t,\tPUNCT\t_\t_\t6\tpunct\t_\t_
5.1\tparla\tparlare\tVERB\t_\t_\t_\t_\t1:conj\t_
6\tno\tno\tINTJ\t_\t_\t1\tdiscourse\t_\tSpaceAfter=No
7\t?\t?\tPUNCT\t_\t_\t1\tpunct\t_\tSpaceAfter=No

0.1\tand\tand\tCCONJ\t_\t_\t_\t_\t2:cc\t_
1-2\twktb\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
1\tw\tw\tCCONJ\t_\t_\t2\tcc\t_\t_
2\tktb\tktb\tVERB\t_\t_\t0\troot\t_\t_
3\t20 000\t20000\tNUM\t_\t_\t2\tobj\t_\t_
"""


def test_a_treebank_is_read_with_its_multiword_tokens_and_empty_nodes(tmp_path: Path):
    (tmp_path / "a.conllu").write_text(TREEBANK)
    first, second = read_trees([tmp_path / "a.conllu"])
    assert first == Parse(
        file=tmp_path / "a.conllu",
        line=4,
        name="first",
        text="Parla dei fatti, no?",
        words=("Parla", "dei", "fatti", ",", "no", "?"),
        nodes=(0, 1, 3, 4, 5, 6),  # "dei" stands at "di": it and "i" are equally far from the root
        heads=(-1, 3, 3, 0, 5, 0, 0),
        relations=("root", "case", "det", "obl", "punct", "discourse", "punct"),
    )
    assert str(first).endswith("a.conllu, line 4 (first)")
    assert second.words == ("wktb", "20 000")
    assert second.nodes == (1, 2), "a word of several nodes stands at the one nearest the root"
    assert second.text == "wktb20 000", "made from the words where the file does not say it"


def test_packed_files_and_several_files_read_as_one(tmp_path: Path):
    (tmp_path / "a.conllu.gz").write_bytes(gzip.compress(b"\xef\xbb\xbf" + chain("a b").replace("\n", "\r\n").encode()))
    (tmp_path / "b.conllu").write_text(chain("c"))
    assert [parse.words for parse in read_trees([tmp_path / "a.conllu.gz", tmp_path / "b.conllu"])] == [
        ("a", "b"),
        ("c",),
    ]


Truth = tuple[tuple[str, ...], tuple[int, ...], tuple[int, ...], str]  # words, nodes, heads, text


@st.composite
def sentences(draw) -> tuple[str, Truth]:
    """A random sentence as CoNLL-U, and what is in it, known from how it was made."""
    count = draw(st.integers(1, 9))
    order = draw(st.permutations(range(count)))
    heads = [-1] * count
    for place in range(1, count):
        heads[order[place]] = order[draw(st.integers(0, place - 1))]
    forms = draw(st.lists(st.text("abé'日#-", min_size=1, max_size=3), min_size=count, max_size=count))
    depth = steps_from(heads.index(-1), heads)
    words, nodes, rows, text, node = [], [], [], "", 0
    while node < count:
        size = draw(st.integers(1, min(3, count - node)))
        spaced = draw(st.booleans())
        misc = "_" if spaced else "SpaceAfter=No"
        if size > 1:
            rows.append(f"{node + 1}-{node + size}\t{forms[node]}" + "\t_" * 7 + f"\t{misc}")
        for number in range(node, node + size):
            form, own = (forms[number], misc) if size == 1 else ("in", "_")
            rows.append(f"{number + 1}\t{form}\t_\t_\t_\t_\t{heads[number] + 1}\t_\t_\t{own}")
            if draw(st.booleans()):
                rows.append(f"{number + 1}.1\tunsaid" + "\t_" * 8)
        words.append(forms[node])
        nodes.append(min(range(node, node + size), key=lambda other: (depth[other], other)))
        text += forms[node] + " " * spaced
        node += size
    return "\n".join([*rows, "", ""]), (tuple(words), tuple(nodes), tuple(heads), text.rstrip())


def steps_from(start: int, heads: list[int]) -> dict[int, int]:
    """Steps from one node to every other, by a search among neighbours."""
    far, todo = {start: 0}, deque([start])
    while todo:
        here = todo.popleft()
        near = [heads[here]] if heads[here] >= 0 else []
        for other in near + [child for child, head in enumerate(heads) if head == here]:
            if other not in far:
                far[other] = far[here] + 1
                todo.append(other)
    return far


@given(st.lists(sentences(), min_size=1, max_size=3))
def test_what_was_written_is_what_is_read(tmp_path_factory: pytest.TempPathFactory, written: list[tuple[str, Truth]]):
    file = tmp_path_factory.mktemp("trees") / "a.conllu"
    file.write_text("".join(text for text, _ in written))
    parses = read_trees([file])
    for parse, (_, true) in zip(parses, written, strict=True):
        assert (parse.words, parse.nodes, parse.heads, parse.text) == true
        assert parse.difference(parse.text) is None


ROW = "1\ta\t_\t_\t_\t_\t0\t_\t_\t_\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\ta\t_\n", "line 1: has 3 columns between tabs, not the 10 of CoNLL-U"),
        (ROW.replace("\t", " "), "line 1: has 1 columns"),
        (ROW + "2\tb\t_\t_\t_\t_\t1", "line 2: has 7 columns"),  # a file that was cut off
        (ROW + "x" + ROW[1:], "line 2: 'x' is not a word number"),
        (ROW + "२" + ROW[1:], "line 2: '२' is not a word number"),
        (ROW + "9" * 5000 + ROW[1:], "is not a word number"),
        (ROW + "1" + ROW[1:], "line 2: word 1 cannot follow word 1"),
        (ROW + "3" + ROW[1:], "line 2: word 3 cannot follow word 1"),
        (ROW + "3.1" + ROW[1:], "line 2: word 3.1 cannot follow word 1"),
        (ROW + "3-4" + ROW[1:], "line 2: word 3-4 cannot follow word 1"),
        ("2-1" + ROW[1:], "line 1: word 2-1 cannot follow word 0"),
        ("1-2" + ROW[1:] + "1-3" + ROW[1:], "line 2: word 1-3 cannot follow word 0"),
        ("1-2" + ROW[1:] + ROW, "line 2: the sentence ends with word 1, inside a multiword token"),
        (ROW.replace("\t0\t", "\t_\t"), "line 1: the head '_' is not a word number"),
        (ROW.replace("\t0\t", "\t-1\t"), "line 1: the head '-1' is not a word number"),
        (ROW.replace("\ta\t", "\t \t"), "line 1: the word has no form"),
        ("# x = y\n\n" + ROW, "line 1: a sentence without words"),
        (ROW + "# text = b\n" + ROW, "line 2: a comment between words; an empty line is missing before it"),
        (conllu("ab", [-1, 2]), "line 2: its head is word 3, but the sentence ends with word 2"),
        ("\n" + conllu("ab", [1, 0]), "line 2: the sentence has no root"),
        (conllu("abc", [-1, 0, -1]), "line 3: is a second root (head 0); the first is on line 1"),
        (conllu("abc", [-1, 2, 1]), "word 2 is part of a cycle"),
        (conllu("ab", [-1, 1]), "line 2: word 2 is part of a cycle"),
        ("", "no trees"),
        ("\n\n", "no trees"),
    ],
)
def test_bad_trees_are_named_by_file_and_line(text: str, message: str, tmp_path: Path):
    (tmp_path / "a.conllu").write_text(text)
    with pytest.raises(UserError) as error:
        read_trees([tmp_path / "a.conllu"])
    assert str(error.value).startswith(str(tmp_path / "a.conllu"))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_damaged_packed_file_is_named(tmp_path: Path):
    (tmp_path / "a.conllu.gz").write_bytes(gzip.compress(chain("a b c").encode() * 50)[:-20])
    with pytest.raises(UserError, match=r"a\.conllu\.gz: is damaged"):
        read_trees([tmp_path / "a.conllu.gz"])


@given(st.text("ab# \t\n1-._0", max_size=60))
def test_no_text_ends_in_anything_but_trees_or_one_line(tmp_path_factory: pytest.TempPathFactory, text: str):
    file = tmp_path_factory.mktemp("trees") / "a.conllu"
    file.write_text(text)
    with suppress(UserError):
        assert read_trees([file])


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["a b", "c x e"], "S, line 2: does not match its tree at T, line 4: the text has 'x' where the tree"),
        (["a b", "cd"], "S, line 2: does not match its tree at T, line 4: the text ends where the tree has"),
        (["a b f g", "c d e"], "S, line 1: does not match its tree at T, line 1: the text continues with 'f'"),
        (["a b", "c d e", "f"], "line 3: has no tree; T ends after 2 sentences"),
        (["a b"], "T, line 4: this tree has no text; the last text is S, line 1"),
        ([], "T, line 1: this tree has no text; there are no texts"),
    ],
)  # fmt: skip
def test_trees_of_other_texts_are_refused(texts: list[str], message: str, tmp_path: Path):
    (tmp_path / "T").write_text(chain("a b") + chain("c d e"))
    parses = read_trees([tmp_path / "T"])
    with pytest.raises(UserError) as error:
        match_trees(parses, texts, lambda number: f"S, line {number + 1}")
    assert message in str(error.value).replace(str(tmp_path) + "/", "")
    match_trees(parses, ["ab ", " c\u00a0de"], str)  # only spaces may differ


TOKENIZERS = [Characters(), Bytes(), BPE(vocab=300), WordPiece(vocab=40), Unigram(vocab=40)]


@pytest.mark.parametrize("kind", TOKENIZERS, ids=lambda kind: type(kind).__name__)
def test_every_piece_stands_at_the_node_of_its_word(kind, tmp_path: Path):
    """The pieces of a text are those of its words one after the other, where the tokenizer cuts at spaces."""
    text = "zwei große Hunde große 日本 Hunde zwei größere"
    words = text.split()
    heads = [2, 2, -1, 4, 2, 4, 5, 6]
    (tmp_path / "T").write_text(conllu(words, heads))
    tokenizer = kind.train([text] * 5)
    [tree] = token_trees([text], read_trees([tmp_path / "T"]), tokenizer)
    pieces = [len(tokenizer.encode([word if not number else f" {word}"])[0]) for number, word in enumerate(words)]
    assert tree.nodes == tuple(node for node, count in enumerate(pieces) for _ in range(count))
    assert tree.framed(1, 1).nodes == (2, *tree.nodes, 2), "special tokens stand at the root"


def test_multiword_tokens_and_joined_words_under_tokens(tmp_path: Path):
    (tmp_path / "T").write_text(TREEBANK)
    first, second = read_trees([tmp_path / "T"])
    texts = [first.text, "wktb 20 000 "]
    tokenizer = Characters().train(texts)
    trees = token_trees(texts, [first, second], tokenizer)
    assert trees[0].nodes == (0,) * 5 + (1,) * 4 + (3,) * 6 + (4,) + (5,) * 3 + (6,)
    assert trees[1].nodes == (1,) * 4 + (2,) * 8, "spaces inside a word and after the last belong to it"


def brute_places(nodes: list[int], heads: list[int]) -> tuple[list[int], list[list[int]]]:
    depth = [steps_from(heads.index(-1), heads)[node] for node in nodes]
    far = [[steps_from(a, heads)[b] * (1 if j > i else -1) for j, b in enumerate(nodes)] for i, a in enumerate(nodes)]
    return depth, far


@given(st.lists(st.integers(1, 7), min_size=1, max_size=4), st.integers(0, 3), st.data())
def test_places_of_a_padded_batch_are_those_of_a_search(counts: list[int], after: int, data):
    rows, trees = [], []
    for count in counts:
        heads = random_heads(count, torch.Generator().manual_seed(count))
        text = " ".join("x" * data.draw(st.integers(1, 3)) for _ in range(count))
        parse = Parse(Path("x"), 1, "", text, tuple(text.split()), tuple(range(count)), tuple(heads), ("dep",) * count)
        [tree] = token_trees([text], [parse], Characters().train(["x x"]))
        trees.append(tree.framed(1, after))
        words = [text[:place].count(" ") + (letter == " ") for place, letter in enumerate(text)]
        root = heads.index(-1)
        rows.append(([root, *words, *[root] * after], heads))
    places = pad_trees(trees)
    assert places.depth is not None
    assert places.distance is not None
    for row, (nodes, heads) in enumerate(rows):
        depth, far = brute_places(nodes, heads)
        assert places.depth[row, : len(nodes)].tolist() == depth
        assert places.distance[row, : len(nodes), : len(nodes)].tolist() == far
        assert not places.depth[row, len(nodes) :].any()
        assert not places.distance[row, len(nodes) :].any()


def some_trees(lengths: list[int]) -> list[TokenTree]:
    """Chains, one token a word."""
    counts = [torch.arange(length) for length in lengths]
    return [TokenTree(tuple(count.tolist()), count, (count - count[:, None]).abs()) for count in counts]


def test_positions_follow_their_rows_through_batches_and_parts():
    tokenizer = Characters().train(["ab"])
    lengths = [2, 5, 3, 4, 7, 6]
    pairs = Pairs([([5] * (n - 1), [6]) for n in lengths], tokenizer, 3, trees=some_trees(lengths))
    texts = LabelledTexts([(n, [5] * n) for n in lengths], tokenizer.pad, 3, trees=some_trees(lengths))
    batches = [*pairs.once(), pairs.batch(0), pairs.batch(1), *texts.once(), texts.batch(0), texts.batch(1)]
    for batch in batches:
        for part in (batch, batch.shard(0, 2), batch.shard(1, 2), batch.to("cpu")):
            valid = part.source_valid if hasattr(part, "source_valid") else part.valid
            assert part.positions is not None
            assert part.positions.index.shape == part.positions.depth.shape == valid.shape
            assert part.positions.depth.amax(-1).tolist() == (valid.sum(-1) - 1).tolist()
            assert part.positions.distance[:, 0].amax(-1).tolist() == (valid.sum(-1) - 1).tolist()
    assert next(iter(Pairs([([5], [6])], tokenizer, 1).once())).positions is None


def test_no_trees_give_no_places():
    assert source_trees(["a"], None, Characters().train(["a"])) is None
