"""The CoNLL-U format: sentences of words with ten columns each (universaldependencies.org/format).

A sentence has syntactic words, numbered 1, 2, 3, and surface tokens. Mostly they are the same, but a multiword token
(2-3 "dei") is one surface token that stands for several words ("di", "i"). Empty nodes (8.1) stand for elided words;
they belong to the enhanced graph and are skipped.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from regard.core.errors import UserError
from regard.data.text.lines import read_lines

COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
ID = re.compile(r"([0-9]{1,9})(?:([-.])([0-9]{1,9}))?")  # 8 is a word, 8-9 a multiword token, 8.1 an empty node


class Token(NamedTuple):
    """A surface token: the words from `first` to `last`, counted from 1."""

    form: str
    first: int
    last: int
    space_after: bool


class Word(NamedTuple):
    """A syntactic word: its line and its columns, as they are in the file."""

    line: int
    columns: tuple[str, ...]

    def column(self, name: str) -> str:
        return self.columns[COLUMNS.index(name)]


@dataclass(frozen=True)
class Sentence:
    file: Path
    line: int  # of the first word
    comments: Mapping[str, str]  # `# key = value`
    tokens: tuple[Token, ...]
    words: tuple[Word, ...]

    def column(self, name: str) -> tuple[str, ...]:
        """One column of every word."""
        return tuple(word.column(name) for word in self.words)


def read_sentences(path: Path) -> Iterator[Sentence]:
    """The sentences of a CoNLL-U file, plain or compressed."""
    for block in blocks(path):
        comments = [line for _, line in takewhile(lambda numbered: numbered[1].startswith("#"), block)]
        if len(comments) == len(block):
            raise UserError(f"{path}, line {block[0][0]}: a sentence without words")
        values = {key.strip(): value.strip() for key, _, value in (line[1:].partition("=") for line in comments)}
        rows = _Rows(path)
        for number, line in block[len(comments) :]:
            rows.read(number, line)
        rows.check_end(block[-1][0])
        yield Sentence(path, block[len(comments)][0], values, tuple(rows.tokens), tuple(rows.words))


def blocks(path: Path) -> Iterator[list[tuple[int, str]]]:
    """Numbered lines between blank ones."""
    block: list[tuple[int, str]] = []
    for number, line in read_lines(path):
        if line.strip():
            block.append((number, line))
        elif block:
            yield block
            block = []
    if block:
        yield block


class _Rows:
    """The rows of one sentence while they are read."""

    def __init__(self, path: Path):
        self.path = path
        self.tokens: list[Token] = []
        self.words: list[Word] = []

    def read(self, line: int, row: str) -> None:
        if row.startswith("#"):
            raise self._error(line, "a comment between words; an empty line is missing before it")
        columns = tuple(row.split("\t"))
        if len(columns) != len(COLUMNS):
            raise self._error(line, f"has {len(columns)} columns between tabs, not the {len(COLUMNS)} of CoNLL-U")
        match = ID.fullmatch(columns[0])
        if match is None:
            raise self._error(line, f"{columns[0]!r} is not a word number (8, 8-9 or 8.1)")
        first, mark, last = int(match[1]), match[2], int(match[3] or match[1])
        in_order = first == len(self.words) + (mark != ".")
        if not in_order or (mark == "-" and (last < first or first <= self._covered)):
            raise self._error(line, f"word {columns[0]} cannot follow word {len(self.words)}")
        if mark == ".":
            return
        if not columns[1].strip():
            raise self._error(line, "the word has no form")
        if mark == "-" or first > self._covered:
            space_after = "SpaceAfter=No" not in columns[-1].split("|")
            self.tokens.append(Token(columns[1], first, last, space_after))
        if mark is None:
            self.words.append(Word(line, columns))

    def check_end(self, line: int) -> None:
        if self._covered > len(self.words):
            raise self._error(line, f"the sentence ends with word {len(self.words)}, inside a multiword token")

    @property
    def _covered(self) -> int:
        """The last word that belongs to a token so far."""
        return self.tokens[-1].last if self.tokens else 0

    def _error(self, line: int, message: str) -> UserError:
        return UserError(f"{self.path}, line {line}: {message}")
