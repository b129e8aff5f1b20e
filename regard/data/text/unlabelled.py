"""Unlabelled texts: a text on each line or in each record, read with some of its words masked.

Unlike the windows of running text (`masked.py`), every row is one text between a start and an end token, as a
classifier reads it. A long text is several rows.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import torch

from regard.core.machine import seed_for
from regard.data.sampler import Sampler
from regard.data.text.documents import holds_records, text_files
from regard.data.text.files import TEXT, Fields, read_rows
from regard.data.text.lines import read_lines
from regard.data.text.masked import MaskedBatch, Masking
from regard.data.text.pairs import pad
from regard.text import Tokenizer


def read_unlabelled(names: Sequence[str]) -> Iterator[str]:
    """The lines of plain files and the records of others that are not empty, of files and of those in folders."""
    for file in text_files(names):
        if holds_records(file):
            texts = (row.fields[0] for row in read_rows(Path(file), Fields(TEXT)))
        else:
            texts = (line for _, line in read_lines(file))
        yield from (text for text in texts if text.strip())


class MaskedTexts:
    """Which words are masked depends on the seed and the step alone."""

    fixed_shape = False

    def __init__(self, texts: Sequence[str], max_length: int, masking: Masking, tokenizer: Tokenizer, batch: int):
        self.masking, self.pad, self.batch_size = masking, tokenizer.pad, batch
        size = max_length - 2
        self.rows = [
            [tokenizer.start, *tokens[first : first + size], tokenizer.end]
            for tokens in tokenizer.encode(texts)
            for first in range(0, len(tokens), size)
        ]
        self.sampler = Sampler([len(row) for row in self.rows], batch, seed=0)

    @property
    def steps_per_epoch(self) -> int:
        return self.sampler.steps_per_epoch

    def batch(self, step: int) -> MaskedBatch:
        return self._collate(self.sampler.rows(step), seed_for("masked texts", step))

    def once(self) -> Iterator[MaskedBatch]:
        for first in range(0, len(self.rows), self.batch_size):
            some = range(len(self.rows))[first : first + self.batch_size]
            yield self._collate(some, seed_for("masked texts", "once", first))

    def _collate(self, numbers: Sequence[int], seed: int) -> MaskedBatch:
        tokens, valid = pad([self.rows[number] for number in numbers], self.pad)
        count = max(1, round(self.masking.fraction * tokens.shape[1]))
        masked, chosen, chosen_valid = self.masking.draw(tokens, count, torch.Generator().manual_seed(seed))
        return MaskedBatch(masked, valid, chosen, tokens.gather(1, chosen), chosen_valid)
