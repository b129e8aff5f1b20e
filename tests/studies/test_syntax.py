"""Heads that follow syntax, on sentences and patterns made for it."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from regard.core.errors import UserError
from regard.data.trees.conllu import Parse, read_trees
from regard.studies.heads import syntax
from regard.studies.heads.syntax import arcs_of, score_syntax
from regard.text import Characters
from tests.helpers import random_heads

LETTERS = "abcdefg"


def sentences(tmp_path: Path, count: int) -> list[Parse]:
    """Words of one letter in trees at random; what hangs from a word before it is an object, else a subject."""
    rng, blocks = torch.Generator().manual_seed(1), []
    for _ in range(count):
        heads = random_heads(len(LETTERS), rng)
        rows = []
        for i, (letter, head) in enumerate(zip(LETTERS, heads, strict=True)):
            relation = "root" if head < 0 else "obj" if head < i else "nsubj:pass"
            rows.append(f"{i + 1}\t{letter}\t_\tX\t_\t_\t{head + 1}\t{relation}\t_\tSpaceAfter=No")
        blocks.append("\n".join(rows))
    (tmp_path / "t.conllu").write_text("\n\n".join(blocks) + "\n")
    return read_trees([tmp_path / "t.conllu"])


def test_a_head_that_follows_the_tree_is_found_by_relation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Head 0 looks at random, 1 at objects' verbs and nowhere else, 2 at subjects' verbs."""
    monkeypatch.setattr(syntax, "MIN_WORDS", 5)
    parses = sentences(tmp_path, 60)
    tokenizer = Characters().train([LETTERS])
    left = iter(parses)

    def read(tokens: Tensor) -> dict[str, Tensor]:
        heads = next(left).heads
        pattern = torch.rand(1, 3, len(heads), len(heads), generator=torch.Generator().manual_seed(3))
        for word, head in enumerate(heads):
            if head >= 0:
                pattern[0, 1 if head < word else 2, word, head] += 9
        return {"layer": pattern / pattern.sum(-1, keepdim=True)}

    scores = score_syntax(parses, tokenizer, 99, False, read)
    every, *others = scores.relations
    assert every.relation == "all"
    assert {(one.relation, one.head, one.accuracy) for one in others} == {("obj", 1, 1.0), ("nsubj", 2, 1.0)}
    for one in others:
        assert one.offset_accuracy < 0.8
        assert (one.offset < 0) == (one.relation == "obj")
    arcs = [one for parse in parses for one in arcs_of(parse, set(range(len(LETTERS))), False)]
    assert len(arcs) == 60 * (len(LETTERS) - 1)
    assert every.words == sum(one.words for one in others) == 30 * (len(LETTERS) - 1), "those of every other sentence"
    assert scores.accuracies["layer", 0] < min(scores.accuracies["layer", 1], scores.accuracies["layer", 2])


def test_who_reads_left_to_right_is_arcs_of_words_before_and_words_without_tokens_of_none(tmp_path: Path):
    [parse] = sentences(tmp_path, 1)
    assert all(one.head < one.word for one in arcs_of(parse, set(range(7)), True))
    assert not [one for one in arcs_of(parse, {0, 1, 2}, False) if one.word > 2 or one.head > 2]


def test_a_sentence_of_one_word_has_no_arcs(tmp_path: Path):
    parses = sentences(tmp_path, 2)
    (tmp_path / "one.conllu").write_text("1\ta\t_\tX\t_\t_\t0\troot\t_\t_\n")
    parses = [*read_trees([tmp_path / "one.conllu"]), *parses]
    even = {"layer": torch.full((1, 1, 7, 7), 1 / 7)}
    assert score_syntax(parses, Characters().train([LETTERS]), 99, False, lambda _: even).relations[0].words == 6


def test_sentences_that_are_too_long_are_refused(tmp_path: Path):
    parses = sentences(tmp_path, 3)
    with pytest.raises(UserError, match=r"t\.conllu: needs at least two sentences of at most 3 tokens"):
        score_syntax(parses, Characters().train([LETTERS]), 3, False, lambda _: {})
