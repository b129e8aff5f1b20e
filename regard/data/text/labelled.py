"""Labelled texts: files with a label and a text in each row."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from regard.core.errors import ConfigError, UserError, at_least, did_you_mean, share
from regard.data.batch import TensorBatch
from regard.data.sampler import Sampler
from regard.data.split import validation_rows
from regard.data.text.files import Fields, Row, check_columns, read_rows
from regard.data.text.pairs import pad
from regard.data.trees.conllu import Parse, check_tree_settings, match_trees, read_trees
from regard.data.trees.tree_positions import TokenTree, pad_trees, token_trees
from regard.parts.positions import Positions
from regard.text import BPE, Tokenizer, TokenizerConfig

log = logging.getLogger(__name__)
FIELDS = ("label", "text")
MANY_LABELS = 20  # up to this number no warning, however few the texts
Labelled = tuple[int, list[int]]  # label index, tokens of the text


@dataclass(frozen=True, kw_only=True)
class LabelFiles:
    train: tuple[str, ...]
    valid: tuple[str, ...] = ()  # none: a random part of the rows of `train`, the same each time
    valid_fraction: float = 0.1  # of the training rows, if `valid` is not given
    columns: tuple[str, ...] = ()  # the names of the label and text columns, if they are not "label" and "text"
    max_length: int = 128  # tokens read of a text
    tokenizer: TokenizerConfig | None = BPE(vocab=8000)  # None: that of the pre-trained model
    unlabelled: tuple[str, ...] = ()  # files or folders of texts to pre-train on, such as a .txt with one on each line
    trees: tuple[str, ...] = ()  # CoNLL-U files: the n-th tree belongs to the n-th row
    valid_trees: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_tree_settings(self.trees, self.valid_trees)
        check_columns(self.columns, FIELDS)
        at_least(3, max_length=self.max_length)
        share(valid_fraction=self.valid_fraction)
        if not self.train:
            raise ConfigError("train: at least one file is needed")
        if self.valid_trees and not self.valid:
            raise ConfigError("valid_trees: trees of validation files are given, but no validation files (valid)")

    def rows(self) -> tuple[list[Row], list[Row]]:
        """Training and validation rows."""
        rows = read_labelled(self.train, self.columns)
        if self.valid:
            return rows, read_labelled(self.valid, self.columns)
        return _split(rows, self.valid_fraction)


def _split(rows: list[Row], fraction: float) -> tuple[list[Row], list[Row]]:
    held_out = validation_rows([row.fields[0] for row in rows], fraction)
    if not held_out:
        raise UserError(f"{rows[0].file}: every label has only one row, so none can be held out; use --valid")
    chosen = set(held_out)
    return [row for i, row in enumerate(rows) if i not in chosen], [rows[i] for i in held_out]


def read_labelled(files: Sequence[str], columns: Sequence[str] = ()) -> list[Row]:
    check_columns(columns, FIELDS)
    rows = [row for file in files for row in read_rows(Path(file), Fields.named(FIELDS, columns))]
    if not rows:
        raise UserError(f"{', '.join(files)}: no labelled texts")
    for row in rows:
        if not row.fields[0].strip():
            raise UserError(f"{row}: the label is empty; add one or remove the row")
    return rows


def check_labels(rows: Sequence[Row], labels: Sequence[str]) -> None:
    """Refuse a label that does not occur in training."""
    for row in rows:
        if row.fields[0] not in labels:
            hint = did_you_mean(row.fields[0], labels[:20])
            raise UserError(f"{row}: the label {row.fields[0]!r} does not occur in the training files; {hint}")


def read_row_trees(files: Sequence[str], rows: Sequence[Row]) -> list[Parse] | None:
    """The tree of each row's text; None without tree files."""
    if not files:
        return None
    parses = read_trees(files)
    match_trees(parses, [row.fields[1] for row in rows], lambda number: str(rows[number]))
    return parses


def labels_of(rows: Sequence[Row]) -> tuple[str, ...]:
    labels = tuple(sorted({row.fields[0] for row in rows}))
    if len(labels) < 2:
        raise UserError(f"{rows[0].file}: every row has the label {labels[0]!r}; at least two labels are needed")
    if len(labels) > max(MANY_LABELS, len(rows) / 2):
        counts = f"{len(labels):,} labels for {len(rows):,} texts"
        log.warning("%s: %s; the label column comes first, then the text", rows[0].file, counts)
    return labels


def encode_texts(texts: Sequence[str], tokenizer: Tokenizer, max_length: int) -> list[list[int]]:
    """Each text between the start token, from whose state the label is predicted, and the end token."""
    return [[tokenizer.start, *tokens[: max_length - 2], tokenizer.end] for tokens in tokenizer.encode(texts)]


def encode_trees(
    texts: Sequence[str], parses: Sequence[Parse] | None, tokenizer: Tokenizer, max_length: int
) -> list[TokenTree] | None:
    """The tree over the tokens of each text as `encode_texts` returns them."""
    if parses is None:
        return None
    return [tree.first(max_length - 2).framed(1, 1) for tree in token_trees(texts, parses, tokenizer)]


def encode_rows(rows: Sequence[Row], labels: Sequence[str], tokenizer: Tokenizer, max_length: int) -> list[Labelled]:
    check_labels(rows, labels)
    ids = {label: number for number, label in enumerate(labels)}
    texts = encode_texts([row.fields[1] for row in rows], tokenizer, max_length)
    return [(ids[row.fields[0]], tokens) for row, tokens in zip(rows, texts, strict=True)]


@dataclass(frozen=True)
class LabelledBatch(TensorBatch):
    tokens: Int[Tensor, "batch length"]
    valid: Bool[Tensor, "batch length"]  # False: padding
    label: Int[Tensor, " batch"]
    positions: Positions | None = None  # if trees are given

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
        self.sampler = Sampler([len(tokens) for _, tokens in rows], batch, seed)

    @property
    def steps_per_epoch(self) -> int:
        return self.sampler.steps_per_epoch

    def batch(self, step: int) -> LabelledBatch:
        return self._collate(self.sampler.rows(step))

    def once(self) -> Iterator[LabelledBatch]:
        for first in range(0, len(self.texts), self.batch_size):
            yield self._collate(range(len(self.texts))[first : first + self.batch_size])

    def _collate(self, numbers: Sequence[int]) -> LabelledBatch:
        rows = [self.texts[number] for number in numbers]
        positions = None if self.trees is None else pad_trees([self.trees[number] for number in numbers])
        tokens, valid = pad([tokens for _, tokens in rows], self.padding)
        return LabelledBatch(tokens, valid, torch.tensor([label for label, _ in rows]), positions)
