"""Dependency trees from CoNLL-U files: each word of a sentence depends on another, its head.

The tree has a node for each syntactic word; the text is made of surface tokens. A multiword token is placed at that of
its nodes which is nearest to the root, the first of them if there are several.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from regard.core.errors import ConfigError, UserError
from regard.data.trees.conllu_rows import COLUMNS, Sentence, Word, read_sentences
from regard.parts.positions import tree_depth

NUMBER = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True)
class Parse:
    """A sentence and its dependency tree."""

    file: Path
    line: int  # of its first word
    name: str  # the comment `# sent_id`, if there is one
    text: str  # the comment `# text`; without it the tokens, joined by spaces except where SpaceAfter=No
    words: tuple[str, ...]  # surface tokens
    nodes: tuple[int, ...]  # the node of each of them
    heads: tuple[int, ...]  # the head of each node, -1 for the root
    relations: tuple[str, ...]  # the relation (deprel) of each node to its head
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict, compare=False, repr=False)  # of each node

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}" + (f" ({self.name})" if self.name else "")

    def nodes_under(self, text: str) -> list[int]:
        """The node of each character; a space belongs to the next word. The text may differ in spaces only."""
        nodes = [node for word, node in zip(self.words, self.nodes, strict=True) for _ in _letters(word)]
        result, following = [0] * len(text), nodes[-1]
        for place in reversed(range(len(text))):
            if not text[place].isspace():
                following = nodes.pop()
            result[place] = following
        return result

    def difference(self, text: str) -> str | None:
        """How the words of a text differ from those of the tree; None if they are the same."""
        wanted = [(letter, word) for word in self.words for letter in _letters(word)]
        places = [place for place, letter in enumerate(text) if not letter.isspace()]
        for place, (letter, word) in zip(places, wanted, strict=False):
            if text[place] != letter:
                return f"has {_word_at(text, place)!r} where the tree has {word!r}"
        if len(places) > len(wanted):
            return f"continues with {_word_at(text, places[len(wanted)])!r} where the tree ends"
        if len(places) < len(wanted):
            return f"ends where the tree has {wanted[len(places)][1]!r}"
        return None


def read_trees(files: Sequence[str | Path]) -> list[Parse]:
    """The sentences of CoNLL-U files, plain or compressed, in order."""
    parses = [_parse(sentence) for file in files for sentence in read_sentences(Path(file))]
    if not parses:
        raise UserError(f"{', '.join(map(str, files))}: no trees")
    return parses


def check_tree_settings(trees: Sequence[str], valid_trees: Sequence[str]) -> None:
    """Refuse trees in training but not in validation, or the reverse."""
    if bool(trees) != bool(valid_trees):
        missing = "valid_trees" if trees else "trees"
        raise ConfigError(f"{missing}: trees are needed for both the training and the validation files, or for neither")


def match_trees(parses: Sequence[Parse], texts: Sequence[str], where: Callable[[int], str]) -> None:
    """Check that the n-th tree is that of the n-th text; `where` names a text by its index."""
    for number, (parse, text) in enumerate(zip(parses, texts, strict=False)):
        difference = parse.difference(text)
        if difference is not None:
            raise UserError(f"{where(number)}: does not match its tree at {parse}: the text {difference}")
    if len(texts) > len(parses):
        end = f"{parses[-1].file} ends" if parses else "the trees end"
        raise UserError(f"{where(len(parses))}: has no tree; {end} after {len(parses)} sentences")
    if len(parses) > len(texts):
        end = f"the last text is {where(len(texts) - 1)}" if texts else "there are no texts"
        raise UserError(f"{parses[len(texts)]}: this tree has no text; {end}")


def _letters(word: str) -> Iterator[str]:
    return (letter for letter in word if not letter.isspace())


def _word_at(text: str, place: int) -> str:
    """The word around a character, for an error."""
    begin = next((start for start in range(place, 0, -1) if text[start - 1].isspace()), 0)
    return text[begin:].split(maxsplit=1)[0][:40]


def _parse(sentence: Sentence) -> Parse:
    heads = _heads(sentence)
    depth = tree_depth(heads)
    spaced = "".join(token.form + " " * token.space_after for token in sentence.tokens)
    columns = {name: sentence.column(name) for name in COLUMNS}
    return Parse(
        file=sentence.file,
        line=sentence.line,
        name=sentence.comments.get("sent_id", ""),
        text=sentence.comments.get("text") or spaced.rstrip(),
        words=tuple(token.form for token in sentence.tokens),
        nodes=tuple(min(range(token.first - 1, token.last), key=depth.__getitem__) for token in sentence.tokens),
        heads=tuple(heads),
        relations=columns["deprel"],
        columns=columns,
    )


def _heads(sentence: Sentence) -> list[int]:
    """The head of each word, checked: one root, and every word reaches it."""
    words, count = sentence.words, len(sentence.words)
    heads = [_head(sentence, word) for word in words]
    for word, head in zip(words, heads, strict=True):
        if head >= count:
            raise _error(sentence, word, f"its head is word {head + 1}, but the sentence ends with word {count}")
    roots = [word for word, head in zip(words, heads, strict=True) if head < 0]
    if not roots:
        raise _error(sentence, words[0], "the sentence has no root: no word has head 0")
    if len(roots) > 1:
        raise _error(sentence, roots[1], f"is a second root (head 0); the first is on line {roots[0].line}")
    reached = {-1}
    for node in range(count):
        path: list[int] = []
        while node not in reached:
            if len(path) > count:
                raise _error(sentence, words[node], f"word {node + 1} is part of a cycle of heads")
            path.append(node)
            node = heads[node]
        reached.update(path)
    return heads


def _head(sentence: Sentence, word: Word) -> int:
    head = word.column("head")
    if not NUMBER.fullmatch(head):
        raise _error(sentence, word, f"the head {head!r} is not a word number")
    return int(head) - 1


def _error(sentence: Sentence, word: Word, message: str) -> UserError:
    return UserError(f"{sentence.file}, line {word.line}: {message}")
