"""Dependency trees: each word of a sentence hangs from another (CoNLL-U, universaldependencies.org/format).

The text of a sentence is made of words, the tree of nodes. Mostly they are the same; but a multiword token ("dei",
which is "di" and "i") is one word with several nodes. It stands at the one nearest the root, the first of these where
several are. Nodes that no word stands at still lie on the way between others. Empty nodes (8.1), which stand for words
left unsaid, belong to another graph than the tree and are skipped.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path

from regard.core.errors import ConfigError, UserError
from regard.data.text.files import read_lines
from regard.parts.positions import tree_depth

COLUMNS = 10
NUMBER = re.compile(r"[0-9]{1,9}")
ID = re.compile(r"([0-9]{1,9})(?:([-.])([0-9]{1,9}))?")  # 8 is a node, 8-9 a word with two, 8.1 an empty node


@dataclass(frozen=True)
class Parse:
    """A sentence and its tree."""

    file: Path
    line: int  # of its first word
    name: str  # the comment `# sent_id`, where there is one
    text: str  # the comment `# text`; without it the words, with spaces where the file does not deny them
    words: tuple[str, ...]
    nodes: tuple[int, ...]  # the node of each word
    heads: tuple[int, ...]  # the node that each node hangs from, -1 for the root
    relations: tuple[str, ...]  # by which it hangs there, as the file names it

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}" + (f" ({self.name})" if self.name else "")

    def nodes_under(self, text: str) -> list[int]:
        """The node of each character; spaces go with the word after them. Only spaces may differ from the words'."""
        nodes = [node for word, node in zip(self.words, self.nodes, strict=True) for _ in _letters(word)]
        shown, following = [0] * len(text), nodes[-1]
        for place in reversed(range(len(text))):
            if not text[place].isspace():
                following = nodes.pop()
            shown[place] = following
        return shown

    def difference(self, text: str) -> str | None:
        """How the words of a text differ from the tree's; None where they do not."""
        wanted = [(letter, word) for word in self.words for letter in _letters(word)]
        places = [place for place, letter in enumerate(text) if not letter.isspace()]
        for place, (letter, word) in zip(places, wanted, strict=False):
            if text[place] != letter:
                return f"has {_word_at(text, place)!r} where the tree has {word!r}"
        if len(places) > len(wanted):
            return f"goes on with {_word_at(text, places[len(wanted)])!r} where the tree ends"
        if len(places) < len(wanted):
            return f"ends where the tree has {wanted[len(places)][1]!r}"
        return None


def read_trees(files: Sequence[str | Path]) -> list[Parse]:
    """The sentences of CoNLL-U files, plain or packed, one file after the other."""
    parses = [_read(Path(file), block) for file in files for block in _blocks(Path(file))]
    if not parses:
        raise UserError(f"{', '.join(map(str, files))}: no trees")
    return parses


def both_or_neither(trees: Sequence[str], valid_trees: Sequence[str]) -> None:
    """Refuse a model that would learn with trees and be measured without, or the reverse."""
    if bool(trees) != bool(valid_trees):
        missing = "valid_trees" if trees else "trees"
        raise ConfigError(f"{missing}: trees are needed beside both the training and the validation files, or neither")


def match_trees(parses: Sequence[Parse], texts: Sequence[str], where: Callable[[int], str]) -> None:
    """Refuse trees that are not those of the texts, one each and in their order; `where` names a text by its number."""
    for number, (parse, text) in enumerate(zip(parses, texts, strict=False)):
        told = parse.difference(text)
        if told is not None:
            raise UserError(f"{where(number)}: is not the sentence of its tree at {parse}: the text {told}")
    if len(texts) > len(parses):
        last = f"{parses[-1].file} ends" if parses else "the trees end"
        raise UserError(f"{where(len(parses))}: has no tree, for {last} after {len(parses)} sentences")
    if len(parses) > len(texts):
        last = f"the last is {where(len(texts) - 1)}" if texts else "there is none"
        raise UserError(f"{parses[len(texts)]}: is the tree of no text, for {last}")


def _letters(word: str) -> Iterator[str]:
    return (letter for letter in word if not letter.isspace())


def _word_at(text: str, place: int) -> str:
    """What stands there between spaces, for an error."""
    begun = next((start for start in range(place, 0, -1) if text[start - 1].isspace()), 0)
    return text[begun:].split(maxsplit=1)[0][:40]


def _blocks(path: Path) -> Iterator[list[tuple[int, str]]]:
    """Numbered lines between empty ones."""
    block: list[tuple[int, str]] = []
    for number, line in read_lines(path):
        if line.strip():
            block.append((number, line))
        elif block:
            yield block
            block = []
    if block:
        yield block


def _read(path: Path, block: list[tuple[int, str]]) -> Parse:
    comments = [line for _, line in takewhile(lambda numbered: numbered[1].startswith("#"), block)]
    if len(comments) == len(block):
        raise UserError(f"{path}, line {block[0][0]}: a sentence without words")
    said = {key.strip(): value.strip() for key, _, value in (line[1:].partition("=") for line in comments)}
    rows = _Rows(path)
    for number, line in block[len(comments) :]:
        rows.read(number, line)
    rows.check(block[-1][0])
    depth = tree_depth(rows.heads)
    return Parse(
        file=path,
        line=block[len(comments)][0],
        name=said.get("sent_id", ""),
        text=said.get("text") or "".join(rows.spaced).rstrip(),
        words=tuple(rows.words),
        nodes=tuple(min(range(first - 1, last), key=depth.__getitem__) for first, last in rows.spans),
        heads=tuple(rows.heads),
        relations=tuple(rows.relations),
    )


@dataclass
class _Rows:
    """The rows of one sentence as they are read."""

    path: Path
    words: list[str] = field(default_factory=list)
    spaced: list[str] = field(default_factory=list)  # the same, each with the space after it
    spans: list[tuple[int, int]] = field(default_factory=list)  # first and last node of each word, counted from 1
    heads: list[int] = field(default_factory=list)
    relations: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)  # of each node

    def read(self, line: int, row: str) -> None:
        if row.startswith("#"):
            raise self._wrong(line, "a comment among the words; an empty line is missing before it")
        columns = row.split("\t")
        if len(columns) != COLUMNS:
            raise self._wrong(line, f"has {len(columns)} columns between tabs, not the {COLUMNS} of CoNLL-U")
        found = ID.fullmatch(columns[0])
        if found is None:
            raise self._wrong(line, f"{columns[0]!r} is not the number of a word (8, 8-9 or 8.1)")
        first, kind, second = int(found[1]), found[2], int(found[3] or found[1])
        follows = first == len(self.heads) + (kind != ".")
        if not follows or (kind == "-" and (second < first or first <= self._covered)):
            raise self._wrong(line, f"word {columns[0]} cannot follow word {len(self.heads)}")
        if kind == ".":
            return
        if kind == "-" or first > self._covered:
            self._add_word(line, columns[1], "SpaceAfter=No" in columns[-1].split("|"), (first, second))
        if kind is None:
            self._add_node(line, columns[6], columns[7])

    def check(self, last_line: int) -> None:
        """One root, from which every node hangs."""
        count = len(self.heads)
        if self._covered > count:
            raise self._wrong(last_line, f"the sentence ends with word {count}, inside a word of several")
        for line, head in zip(self.lines, self.heads, strict=True):
            if head >= count:
                raise self._wrong(line, f"hangs from word {head + 1}, but the sentence ends with word {count}")
        roots = [line for line, head in zip(self.lines, self.heads, strict=True) if head < 0]
        if not roots:
            raise self._wrong(self.lines[0], "the sentence has no root: no word hangs from 0")
        if len(roots) > 1:
            raise self._wrong(roots[1], f"is a second root (hangs from 0); the first is on line {roots[0]}")
        hung = {-1}
        for node in range(count):
            path: list[int] = []
            while node not in hung:
                if len(path) > count:
                    raise self._wrong(self.lines[node], f"word {node + 1} hangs from itself, by way of others or not")
                path.append(node)
                node = self.heads[node]
            hung.update(path)

    @property
    def _covered(self) -> int:
        """The last node that belongs to a word so far."""
        return self.spans[-1][1] if self.spans else 0

    def _add_word(self, line: int, form: str, joined: bool, span: tuple[int, int]) -> None:
        if not form.strip():
            raise self._wrong(line, "the word has no form")
        self.words.append(form)
        self.spaced.append(form if joined else form + " ")
        self.spans.append(span)

    def _add_node(self, line: int, head: str, relation: str) -> None:
        if not NUMBER.fullmatch(head):
            raise self._wrong(line, f"the head {head!r} is not the number of a word")
        self.heads.append(int(head) - 1)
        self.relations.append(relation)
        self.lines.append(line)

    def _wrong(self, line: int, told: str) -> UserError:
        return UserError(f"{self.path}, line {line}: {told}")
