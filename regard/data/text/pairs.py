"""Pairs of texts: a source and the target that it should become."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from regard.data.batch import TensorBatch
from regard.data.sampler import Sampler
from regard.data.trees.conllu import Parse
from regard.data.trees.tree_positions import TokenTree, pad_trees, token_trees
from regard.parts.positions import Positions
from regard.text import Tokenizer

Pair = tuple[str, str]
References = tuple[str, tuple[str, ...]]  # a source and all its reference targets
TokenPair = tuple[list[int], list[int]]  # tokens of source and target


@dataclass(frozen=True)
class PairBatch(TensorBatch):
    source: Int[Tensor, "batch source"]  # ends with the end token, so that an empty text has one token
    source_valid: Bool[Tensor, "batch source"]  # False: padding
    target: Int[Tensor, "batch target"]  # the decoder's input: begins with the start token
    answer: Int[Tensor, "batch target"]  # the target shifted by one: ends with the end token
    answer_valid: Bool[Tensor, "batch target"]
    positions: Positions | None = None  # of the source, if its trees are given

    @property
    def rows(self) -> int:
        return len(self.source)

    @property
    def size(self) -> int:
        """Source and target tokens."""
        return int(self.source_valid.sum() + self.answer_valid.sum())


class Pairs:
    """Batches of tokenised pairs."""

    fixed_shape = False

    def __init__(
        self,
        pairs: Sequence[TokenPair],
        tokenizer: Tokenizer,
        batch: int,
        seed: int = 0,
        trees: Sequence[TokenTree] | None = None,  # of each source with its end token
    ):
        self.pairs, self.trees, self.batch_size = pairs, trees, batch
        self.pad, self.start, self.end = tokenizer.pad, tokenizer.start, tokenizer.end
        self.sampler = Sampler([_sort_key(*pair) for pair in pairs], batch, seed)

    @property
    def steps_per_epoch(self) -> int:
        return self.sampler.steps_per_epoch

    def batch(self, step: int) -> PairBatch:
        return self._collate(self.sampler.rows(step))

    def once(self) -> Iterator[PairBatch]:
        for first in range(0, len(self.pairs), self.batch_size):
            yield self._collate(range(len(self.pairs))[first : first + self.batch_size])

    def _collate(self, numbers: Sequence[int]) -> PairBatch:
        pairs = [self.pairs[number] for number in numbers]
        positions = None if self.trees is None else pad_trees([self.trees[number] for number in numbers])
        source, source_valid = pad([[*source, self.end] for source, _ in pairs], self.pad)
        target, _ = pad([[self.start, *target] for _, target in pairs], self.pad)
        answer, answer_valid = pad([[*target, self.end] for _, target in pairs], self.pad)
        return PairBatch(source, source_valid, target, answer, answer_valid, positions)


def _sort_key(source: list[int], target: list[int]) -> int:
    """The longer side first, then the shorter: less padding than sorting by the sum."""
    longer, shorter = max(len(source), len(target)), min(len(source), len(target))
    return (longer << 32) + shorter


def source_trees(texts: Sequence[str], parses: Sequence[Parse] | None, tokenizer: Tokenizer) -> list[TokenTree] | None:
    """The tree over the tokens of each source and its end token; None without trees."""
    if parses is None:
        return None
    return [tree.framed(0, 1) for tree in token_trees(texts, parses, tokenizer)]


def pad(rows: Sequence[Sequence[int]], padding: int) -> tuple[Tensor, Tensor]:
    """Rows padded to the same length, and a mask that is True at real tokens."""
    length = max(map(len, rows))
    filled = torch.tensor([[*row, *[padding] * (length - len(row))] for row in rows])
    lengths = torch.tensor([len(row) for row in rows])
    return filled, torch.arange(length) < lengths[:, None]
