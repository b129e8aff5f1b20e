"""Pairs: a source text and the target text it should become."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from regard.data.batch import TensorBatch
from regard.data.sampler import Order
from regard.data.trees.conllu import Parse
from regard.data.trees.tree_positions import TokenTree, pad_trees, token_trees
from regard.parts.positions import Positions
from regard.text import Tokenizer

Row = tuple[list[int], list[int]]  # tokens of source and target


@dataclass(frozen=True)
class PairBatch(TensorBatch):
    source: Int[Tensor, "batch source"]  # ends with the end token, so that an empty text is still something to look at
    source_valid: Bool[Tensor, "batch source"]
    target: Int[Tensor, "batch target"]  # starts with the start token
    answer: Int[Tensor, "batch target"]  # the target moved by one: ends with the end token
    answer_valid: Bool[Tensor, "batch target"]
    positions: Positions | None = None  # of the source, where its trees are known

    @property
    def rows(self) -> int:
        return len(self.source)

    @property
    def size(self) -> int:
        """Tokens read and written, for the speed on screen."""
        return int(self.source_valid.sum() + self.answer_valid.sum())


class Pairs:
    """Rows of tokens as batches: an endless shuffled stream to train on, or one pass in order to measure."""

    fixed_shape = False

    def __init__(
        self,
        rows: Sequence[Row],
        tokenizer: Tokenizer,
        batch: int,
        seed: int = 0,
        trees: Sequence[TokenTree] | None = None,  # of each source, with its end token
    ):
        self.rows_, self.trees, self.batch_size = rows, trees, batch
        self.pad, self.start, self.end = tokenizer.pad, tokenizer.start, tokenizer.end
        self.order = Order([_size(*row) for row in rows], batch, seed)

    @property
    def steps_per_epoch(self) -> int:
        return self.order.steps_per_epoch

    def batch(self, step: int) -> PairBatch:
        return self._collate(self.order.rows(step))

    def once(self) -> Iterator[PairBatch]:
        for first in range(0, len(self.rows_), self.batch_size):
            yield self._collate(range(len(self.rows_))[first : first + self.batch_size])

    def _collate(self, numbers: Sequence[int]) -> PairBatch:
        rows = [self.rows_[number] for number in numbers]
        positions = None if self.trees is None else pad_trees([self.trees[number] for number in numbers])
        source, source_valid = pad([[*source, self.end] for source, _ in rows], self.pad)
        target, _ = pad([[self.start, *target] for _, target in rows], self.pad)
        answer, answer_valid = pad([[*target, self.end] for _, target in rows], self.pad)
        return PairBatch(source, source_valid, target, answer, answer_valid, positions)


def _size(source: list[int], target: list[int]) -> int:
    """To sort by: the longer side first, then the shorter, which leaves less padding than their sum would."""
    longer, shorter = max(len(source), len(target)), min(len(source), len(target))
    return (longer << 32) + shorter


def source_trees(texts: Sequence[str], parses: Sequence[Parse] | None, tokenizer: Tokenizer) -> list[TokenTree] | None:
    """The tree under the tokens of each source and its end token, where trees are given."""
    if parses is None:
        return None
    return [tree.framed(0, 1) for tree in token_trees(texts, parses, tokenizer)]


def pad(rows: Sequence[Sequence[int]], padding: int) -> tuple[Tensor, Tensor]:
    """Rows as one rectangle, and which of it is real."""
    length = max(map(len, rows))
    filled = torch.tensor([[*row, *[padding] * (length - len(row))] for row in rows])
    lengths = torch.tensor([len(row) for row in rows])
    return filled, torch.arange(length) < lengths[:, None]
