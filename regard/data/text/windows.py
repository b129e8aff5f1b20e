"""Windows: running text cut into stretches of equal length, at different places in every epoch.

Documents are packed into the windows one after the other, each behind the end token of the one before. Told that token,
a batch says which document each position belongs to, so that attention can stay within it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from regard.core.errors import UserError
from regard.core.machine import seed_for
from regard.data.batch import TensorBatch
from regard.data.sampler import Sampler


@dataclass(frozen=True)
class Packing:
    """Several documents in each row."""

    document: Int[Tensor, "batch length"]  # the number of the document in the row
    index: Int[Tensor, "batch length"]  # positions counted from the start of the document, or of the row

    @staticmethod
    def of(tokens: Int[Tensor, "batch length"], end: int) -> "Packing":
        """An end token begins the next document: it is what an empty prompt is, and predicts the first word."""
        begins = tokens == end
        place = torch.arange(tokens.shape[1]).expand_as(tokens)
        return Packing(begins.cumsum(1), place - torch.where(begins, place, 0).cummax(1).values)

    def each(self, change: Callable[[Tensor], Tensor]) -> "Packing":
        return Packing(change(self.document), change(self.index))


@dataclass(frozen=True)
class WindowBatch(TensorBatch):
    tokens: Int[Tensor, "batch length"]
    answer: Int[Tensor, "batch length"]  # the next token at each position
    answer_valid: Bool[Tensor, "batch length"]  # False: padding
    packing: Packing | None = None  # None: one text

    @property
    def rows(self) -> int:
        return len(self.tokens)

    @property
    def size(self) -> int:
        return int(self.answer_valid.sum())


class Windows:
    """Training shuffles the windows; evaluation reads them in order, so that every token counts once.

    A text shorter than `length` is one window. With the `end` token, documents in a window are told apart.
    """

    fixed_shape = True

    def __init__(self, tokens: np.ndarray, length: int, batch: int, seed: int = 0, end: int | None = None):
        if len(tokens) < 2:
            raise UserError(f"a text of {len(tokens)} tokens is too short: there is no next token to predict")
        self.tokens, self.batch_size, self.seed, self.end = tokens, batch, seed, end
        self.length = min(length, len(tokens) - 1)
        # One window fewer than would fit, so that each epoch can start at a different offset.
        count = max(1, (len(tokens) - 1) // self.length - 1)
        self.sampler = Sampler(torch.ones(count, dtype=torch.int8), batch, seed)
        self.slack = len(tokens) - 1 - count * self.length

    @property
    def steps_per_epoch(self) -> int:
        return self.sampler.steps_per_epoch

    def batch(self, step: int) -> WindowBatch:
        epoch = step // self.steps_per_epoch
        offset = seed_for("windows", self.seed, epoch) % (min(self.slack, self.length) + 1)
        return self._collate([offset + row * self.length for row in self.sampler.rows(step)])

    def once(self) -> Iterator[WindowBatch]:
        starts = range(0, len(self.tokens) - 1, self.length)
        for first in range(0, len(starts), self.batch_size):
            yield self._collate(starts[first : first + self.batch_size])

    def _collate(self, starts: list[int] | range) -> WindowBatch:
        rows = np.zeros((len(starts), self.length + 1), dtype=np.int64)
        sizes = torch.empty(len(starts), dtype=torch.long)
        for row, start in enumerate(starts):
            window = self.tokens[start : start + self.length + 1]
            rows[row, : len(window)] = window
            sizes[row] = len(window) - 1
        filled = torch.from_numpy(rows)
        packing = None if self.end is None else Packing.of(filled[:, :-1], self.end)
        return WindowBatch(filled[:, :-1], filled[:, 1:], torch.arange(self.length) < sizes[:, None], packing)
