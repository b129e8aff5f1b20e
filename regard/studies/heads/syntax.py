"""Whether a head of attention looks at the word that a word hangs from (Clark et al., 2019).

One head among many does so by chance, and one fixed distance among many is often right too. Therefore the best head and
the best distance are chosen by every other sentence, and counted on the sentences between.
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

FEWEST = 50  # words with a relation to the word they hang from, for it to have a line of its own
ALL = "all"
Patterns = dict[str, Tensor]
HeadName = tuple[str, int]


class Asked(NamedTuple):
    """A word, the word that it hangs from, and by what relation."""

    word: int
    head: int
    relation: str


@dataclass(frozen=True)
class Relation:
    """How often the head that was chosen looks at the word above, and how often the distance that was chosen leads."""

    name: str
    words: int
    layer: str
    number: int
    share: float
    offset: int
    by_offset: float


@dataclass(frozen=True)
class Syntax:
    shares: dict[HeadName, float]  # of all words of all sentences
    relations: tuple[Relation, ...]  # that of all words first


@dataclass
class _Tally:
    """Of one half of the sentences, for each relation and for all together."""

    right: dict[str, dict[HeadName, float]] = field(default_factory=dict)
    offsets: dict[str, Counter[int]] = field(default_factory=dict)

    def add(self, asked: Sequence[Asked], looks: dict[str, Bool[Tensor, "head asked"]]) -> None:
        for name in {ALL, *(one.relation for one in asked)}:
            chosen = torch.tensor([name in (ALL, one.relation) for one in asked])
            self.offsets.setdefault(name, Counter()).update(
                one.head - one.word for one in asked if name in (ALL, one.relation)
            )
            right = self.right.setdefault(name, {})
            for layer, own in looks.items():
                for number, count in enumerate(own[:, chosen].sum(-1).tolist()):
                    right[layer, number] = right.get((layer, number), 0.0) + count

    def words(self, name: str) -> int:
        return self.offsets.get(name, Counter()).total()


def read_syntax(
    parses: Sequence[Parse], tokenizer: Tokenizer, longest: int, causal: bool, read: Callable[[Tensor], Patterns]
) -> Syntax:
    """`read` gives the patterns between the tokens of one sentence, by layer."""
    halves = _Tally(), _Tally()
    texts = [parse.text for parse in parses]
    trees = token_trees(texts, parses, tokenizer)
    able = [
        (parse, tokens, tree, asked)
        for parse, tokens, tree in zip(parses, tokenizer.encode(texts), trees, strict=True)
        if len(tokens) <= longest and (asked := ask(parse, set(tree.nodes), causal))
    ]
    for number, (parse, tokens, tree, asked) in enumerate(able):
        patterns = read(torch.tensor([tokens]))
        words = {name: word_pattern(own[0].clone(), tree, len(parse.heads)) for name, own in patterns.items()}
        halves[number % 2].add(asked, {name: looks_at(own, asked) for name, own in words.items()})
    if not all(half.words(ALL) for half in halves):
        raise UserError(f"{parses[0].file}: needs two sentences of at most {longest} tokens, which can be read at once")
    total = sum(half.words(ALL) for half in halves)
    shares = {head: (halves[0].right[ALL][head] + right) / total for head, right in halves[1].right[ALL].items()}
    names = sorted(halves[1].offsets, key=lambda name: (-halves[1].words(name), name != ALL))
    many = [name for name in names if name == ALL or min(half.words(name) for half in halves) >= FEWEST]
    return Syntax(shares, tuple(_relation(name, *halves) for name in many))


def _relation(name: str, chosen_by: _Tally, counted: _Tally) -> Relation:
    right, words = chosen_by.right[name], counted.words(name)
    best = max(right, key=lambda head: right[head])
    offset = chosen_by.offsets[name].most_common(1)[0][0]
    return Relation(
        name, words, *best, counted.right[name][best] / words, offset, counted.offsets[name][offset] / words
    )


def ask(parse: Parse, seen: set[int], causal: bool) -> list[Asked]:
    """Every word with a word above it, both of which have tokens; who reads left to right must have read it before."""
    return [
        Asked(word, head, parse.relations[word].partition(":")[0])
        for word, head in enumerate(parse.heads)
        if head >= 0 and (head < word or not causal) and {word, head} <= seen
    ]


def looks_at(words: Float[Tensor, "head from to"], asked: Sequence[Asked]) -> Bool[Tensor, "head asked"]:
    """Whether each attention head looks most, among other words, at the word above."""
    others = words.clone()
    others.diagonal(dim1=1, dim2=2).fill_(-1.0)
    most = others.argmax(-1)
    return most[:, [one.word for one in asked]] == torch.tensor([one.head for one in asked])
