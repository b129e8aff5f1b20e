"""Labelled texts: a file with a label and a text in each row."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from regard.core.errors import ConfigError, UserError, at_least, did_you_mean, share
from regard.data.batch import TensorBatch
from regard.data.sampler import Order
from regard.data.split import held_out
from regard.data.text.files import Fields, Row, check_columns, read_rows
from regard.data.text.pairs import pad
from regard.data.trees.conllu import Parse, both_or_neither, match_trees, read_trees
from regard.data.trees.tree_positions import TokenTree, pad_trees, token_trees
from regard.parts.positions import Positions
from regard.text import BPE, Tokenizer, Tokenizing

FIELDS = ("label", "text")
SURELY_LABELS = 20  # so many may be labels of few texts
Labelled = tuple[int, list[int]]  # number of the label, tokens of the text


@dataclass(frozen=True, kw_only=True)
class LabelFiles:
    train: tuple[str, ...]
    valid: tuple[str, ...] = ()  # none: a share of the rows of `train`, drawn at random but the same each time
    valid_share: float = 0.1
    columns: tuple[str, ...] = ()  # what the files call a label and its text; none: so
    longest: int = 128  # tokens read of a text
    tokenizer: Tokenizing | None = BPE(vocab=8000)  # None: that of the run that training begins from
    trees: tuple[str, ...] = ()  # CoNLL-U: the n-th tree is that of the n-th row
    valid_trees: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        both_or_neither(self.trees, self.valid_trees)
        check_columns(self.columns, FIELDS)
        at_least(3, longest=self.longest)
        share(valid_share=self.valid_share)
        if not self.train:
            raise ConfigError("train: at least one file is needed")
        if self.valid_trees and not self.valid:
            raise ConfigError("valid_trees: are the trees of validation files, and valid names none")

    def rows(self) -> tuple[list[Row], list[Row]]:
        """The rows to train on and to measure by."""
        rows = read_labelled(self.train, self.columns)
        if self.valid:
            return rows, read_labelled(self.valid, self.columns)
        return _hold_out(rows, self.valid_share)


def _hold_out(rows: list[Row], part: float) -> tuple[list[Row], list[Row]]:
    apart = held_out([row.fields[0] for row in rows], part)
    if not apart:
        raise UserError(f"{rows[0].file}: every label has one row only, so none is held out; name some with --valid")
    chosen = set(apart)
    return [row for i, row in enumerate(rows) if i not in chosen], [rows[i] for i in apart]


def read_labelled(files: Sequence[str], columns: Sequence[str] = ()) -> list[Row]:
    check_columns(columns, FIELDS)
    rows = [row for file in files for row in read_rows(Path(file), Fields.called(FIELDS, columns))]
    if not rows:
        raise UserError(f"{', '.join(files)}: no labelled texts")
    for row in rows:
        if not row.fields[0].strip():
            raise UserError(f"{row}: has no label; name one, or leave the row out")
    return rows


def check_labels(rows: Sequence[Row], labels: Sequence[str]) -> None:
    """Refuse a label that was never learned."""
    for row in rows:
        if row.fields[0] not in labels:
            told = did_you_mean(row.fields[0], labels[:20])
            raise UserError(f"{row}: the label {row.fields[0]!r} does not occur in the training files; {told}")


def read_row_trees(files: Sequence[str], rows: Sequence[Row]) -> list[Parse] | None:
    """The tree of each row's text, where trees are given."""
    if not files:
        return None
    parses = read_trees(files)
    match_trees(parses, [row.fields[1] for row in rows], lambda number: str(rows[number]))
    return parses


def labels_of(rows: Sequence[Row]) -> tuple[str, ...]:
    labels = tuple(sorted({row.fields[0] for row in rows}))
    if len(labels) < 2:
        raise UserError(f"{rows[0].file}: every row has the label {labels[0]!r}; there must be two to tell apart")
    if len(labels) > max(SURELY_LABELS, len(rows) / 2):
        told = f"{len(labels):,} labels for {len(rows):,} texts; of the two columns the label comes first"
        print(f"note: {rows[0].file}: {told}", file=sys.stderr)
    return labels


def encode_texts(texts: Sequence[str], tokenizer: Tokenizer, longest: int) -> list[list[int]]:
    """Each text between the start token, which the label is read from, and the end token."""
    return [[tokenizer.start, *tokens[: longest - 2], tokenizer.end] for tokens in tokenizer.encode(texts)]


def encode_trees(
    texts: Sequence[str], parses: Sequence[Parse] | None, tokenizer: Tokenizer, longest: int
) -> list[TokenTree] | None:
    """The tree under the tokens of each text as `encode_texts` frames it."""
    if parses is None:
        return None
    return [tree.first(longest - 2).framed(1, 1) for tree in token_trees(texts, parses, tokenizer)]


def encode_rows(rows: Sequence[Row], labels: Sequence[str], tokenizer: Tokenizer, longest: int) -> list[Labelled]:
    check_labels(rows, labels)
    numbers = {label: number for number, label in enumerate(labels)}
    texts = encode_texts([row.fields[1] for row in rows], tokenizer, longest)
    return [(numbers[row.fields[0]], tokens) for row, tokens in zip(rows, texts, strict=True)]


@dataclass(frozen=True)
class LabelledBatch(TensorBatch):
    tokens: Int[Tensor, "batch length"]
    valid: Bool[Tensor, "batch length"]
    label: Int[Tensor, " batch"]
    positions: Positions | None = None  # where the trees are known

    @property
    def rows(self) -> int:
        return len(self.tokens)

    @property
    def size(self) -> int:
        return int(self.valid.sum())


class LabelledTexts:
    fixed_shape = False

    def __init__(
        self,
        rows: Sequence[Labelled],
        padding: int,
        batch: int,
        seed: int = 0,
        trees: Sequence[TokenTree] | None = None,
    ):
        self.texts, self.trees, self.padding, self.batch_size = rows, trees, padding, batch
        self.order = Order([len(tokens) for _, tokens in rows], batch, seed)

    @property
    def steps_per_epoch(self) -> int:
        return self.order.steps_per_epoch

    def batch(self, step: int) -> LabelledBatch:
        return self._collate(self.order.rows(step))

    def once(self) -> Iterator[LabelledBatch]:
        for first in range(0, len(self.texts), self.batch_size):
            yield self._collate(range(len(self.texts))[first : first + self.batch_size])

    def _collate(self, numbers: Sequence[int]) -> LabelledBatch:
        rows = [self.texts[number] for number in numbers]
        positions = None if self.trees is None else pad_trees([self.trees[number] for number in numbers])
        tokens, valid = pad([tokens for _, tokens in rows], self.padding)
        return LabelledBatch(tokens, valid, torch.tensor([label for label, _ in rows]), positions)
