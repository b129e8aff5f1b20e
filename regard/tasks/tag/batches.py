"""Batches of tagged sentences: words become pieces, and the first piece of each word carries its label."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from regard.data.batch import TensorBatch
from regard.data.sampler import Sampler
from regard.data.text.pairs import pad
from regard.text import Tokenizer


@dataclass(frozen=True)
class Encoded:
    """A sentence as pieces of words, with the place of each word's first piece."""

    tokens: list[int]
    words: list[int]
    labels: list[int]


@dataclass(frozen=True)
class TaggedBatch(TensorBatch):
    tokens: Int[Tensor, "batch length"]
    valid: Bool[Tensor, "batch length"]
    words: Int[Tensor, "batch word"]  # places of the words' first pieces
    label: Int[Tensor, "batch word"]
    counted: Bool[Tensor, "batch word"]  # False: padding
    mask: int  # the mask token

    @property
    def rows(self) -> int:
        return len(self.tokens)

    @property
    def size(self) -> int:
        return int(self.valid.sum())


def encode_words(words: Sequence[str], tokenizer: Tokenizer, max_length: int) -> Encoded:
    """Words that no longer fit into `max_length` tokens are left out."""
    tokens, places = [tokenizer.start], []
    for pieces in tokenizer.encode(list(words)):
        pieces = pieces or [tokenizer.mask]  # a word of characters that the tokenizer drops
        if len(tokens) + len(pieces) + 1 > max_length:
            break
        places.append(len(tokens))
        tokens += pieces
    return Encoded([*tokens, tokenizer.end], places, [])


def collate(rows: Sequence[Encoded], tokenizer: Tokenizer) -> TaggedBatch:
    tokens, valid = pad([row.tokens for row in rows], tokenizer.pad)
    words, counted = pad([row.words for row in rows], 0)
    label, _ = pad([row.labels or [0] * len(row.words) for row in rows], 0)
    return TaggedBatch(tokens, valid, words, label, counted, tokenizer.mask)


class TaggedSentences:
    """The batch of a step depends on the seed and the step alone; sentences of similar length go together."""

    fixed_shape = False

    def __init__(self, rows: Sequence[Encoded], tokenizer: Tokenizer, batch_size: int, seed: int = 0):
        self.encoded, self.tokenizer, self.batch_size = rows, tokenizer, batch_size
        self.sampler = Sampler(torch.tensor([len(row.tokens) for row in rows]), batch_size, seed)

    @property
    def steps_per_epoch(self) -> int:
        return self.sampler.steps_per_epoch

    def batch(self, step: int) -> TaggedBatch:
        return collate([self.encoded[number] for number in self.sampler.rows(step)], self.tokenizer)

    def once(self) -> Iterator[TaggedBatch]:
        for first in range(0, len(self.encoded), self.batch_size):
            yield collate(self.encoded[first : first + self.batch_size], self.tokenizer)
