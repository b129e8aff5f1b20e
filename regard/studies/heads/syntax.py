"""Whether a head attends to the syntactic head of a word, in a dependency tree (Clark et al., 2019).

One head among many does so by chance, and so does one fixed offset among many. Therefore the best head and the best
offset are selected on every second sentence and evaluated on the others.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from regard.core.errors import UserError
from regard.data.trees.conllu import Parse
from regard.data.trees.tree_positions import token_trees
from regard.studies.heads.roles import word_pattern
from regard.text import Tokenizer

MIN_WORDS = 50  # with a relation, in either half of the sentences, for the relation to be reported
ALL = "all"
Patterns = dict[str, Tensor]  # by layer
HeadKey = tuple[str, int]  # layer and head of attention


class Arc(NamedTuple):
    """A word, its syntactic head, and their relation."""

    word: int
    head: int
    relation: str


@dataclass(frozen=True)
class RelationScore:
    """How often the selected head of attention finds the syntactic head, and how often the selected offset does."""

    relation: str
    words: int
    layer: str
    head: int
    accuracy: float
    offset: int
    offset_accuracy: float


@dataclass(frozen=True)
class Syntax:
    accuracies: dict[HeadKey, float]  # over all words of all sentences
    relations: tuple[RelationScore, ...]  # that of all words first


@dataclass
class _Counts:
    """Of one half of the sentences, by relation and for all together."""

    correct: dict[str, dict[HeadKey, float]] = field(default_factory=dict)
    offsets: dict[str, Counter[int]] = field(default_factory=dict)

    def add(self, arcs: Sequence[Arc], correct: dict[str, Bool[Tensor, "head arc"]]) -> None:
        for name in {ALL, *(arc.relation for arc in arcs)}:
            chosen = torch.tensor([name in (ALL, arc.relation) for arc in arcs])
            self.offsets.setdefault(name, Counter()).update(
                arc.head - arc.word for arc in arcs if name in (ALL, arc.relation)
            )
            counts = self.correct.setdefault(name, {})
            for layer, heads in correct.items():
                for head, count in enumerate(heads[:, chosen].sum(-1).tolist()):
                    counts[layer, head] = counts.get((layer, head), 0.0) + count

    def words(self, relation: str) -> int:
        return self.offsets.get(relation, Counter()).total()


def score_syntax(
    parses: Sequence[Parse], tokenizer: Tokenizer, max_length: int, causal: bool, patterns: Callable[[Tensor], Patterns]
) -> Syntax:
    """`patterns` gives the attention between the tokens of one sentence, by layer."""
    halves = _Counts(), _Counts()
    texts = [parse.text for parse in parses]
    trees = token_trees(texts, parses, tokenizer)
    sentences = [
        (parse, tokens, tree, arcs)
        for parse, tokens, tree in zip(parses, tokenizer.encode(texts), trees, strict=True)
        if len(tokens) <= max_length and (arcs := arcs_of(parse, set(tree.nodes), causal))
    ]
    for i, (parse, tokens, tree, arcs) in enumerate(sentences):
        layers = patterns(torch.tensor([tokens]))
        words = {name: word_pattern(layer[0].clone(), tree, len(parse.heads)) for name, layer in layers.items()}
        halves[i % 2].add(arcs, {name: attends_to_head(pattern, arcs) for name, pattern in words.items()})
    if not all(half.words(ALL) for half in halves):
        raise UserError(f"{parses[0].file}: needs at least two sentences of at most {max_length} tokens")
    total = sum(half.words(ALL) for half in halves)
    accuracies = {key: (halves[0].correct[ALL][key] + count) / total for key, count in halves[1].correct[ALL].items()}
    names = sorted(halves[1].offsets, key=lambda name: (-halves[1].words(name), name != ALL))
    frequent = [name for name in names if name == ALL or min(half.words(name) for half in halves) >= MIN_WORDS]
    return Syntax(accuracies, tuple(_score(name, *halves) for name in frequent))


def _score(relation: str, selection: _Counts, evaluation: _Counts) -> RelationScore:
    correct, words = selection.correct[relation], evaluation.words(relation)
    best = max(correct, key=lambda key: correct[key])
    offset = selection.offsets[relation].most_common(1)[0][0]
    accuracy = evaluation.correct[relation][best] / words
    return RelationScore(relation, words, *best, accuracy, offset, evaluation.offsets[relation][offset] / words)


def arcs_of(parse: Parse, seen: set[int], causal: bool) -> list[Arc]:
    """Arcs between words that have tokens; a causal model must have read the syntactic head before the word."""
    return [
        Arc(word, head, parse.relations[word].partition(":")[0])
        for word, head in enumerate(parse.heads)
        if head >= 0 and (head < word or not causal) and {word, head} <= seen
    ]


def attends_to_head(words: Float[Tensor, "head from to"], arcs: Sequence[Arc]) -> Bool[Tensor, "head arc"]:
    """Whether each head of attention attends to the syntactic head most, among other words."""
    others = words.clone()
    others.diagonal(dim1=1, dim2=2).fill_(-1.0)
    most = others.argmax(-1)
    return most[:, [arc.word for arc in arcs]] == torch.tensor([arc.head for arc in arcs])
