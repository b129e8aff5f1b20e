"""Masked windows: running text in which some words are hidden, to be told from the rest (Devlin et al., 2019).

Which words are hidden follows from the seed and the step alone; in a pass that measures, from the window alone. Every
window has as many places to tell, so that shapes are fixed and scores need computing nowhere else.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from regard.core.errors import at_least
from regard.core.machine import seed_for
from regard.data.batch import TensorBatch
from regard.data.text.windows import WindowBatch, Windows
from regard.text import Tokenizer

MASKED, REPLACED = 0.8, 0.1  # of the chosen words; the rest stay, so that a word that is shown may be wrong or right


@dataclass(frozen=True)
class MaskedBatch(TensorBatch):
    tokens: Int[Tensor, "batch length"]  # as the model reads them
    valid: Bool[Tensor, "batch length"] | None  # None: all are real
    chosen: Int[Tensor, "batch chosen"]  # the places to tell
    answer: Int[Tensor, "batch chosen"]  # what stood there
    counted: Bool[Tensor, "batch chosen"]  # False: a window with fewer words than others

    @property
    def rows(self) -> int:
        return len(self.tokens)

    @property
    def size(self) -> int:
        return self.tokens.numel() if self.valid is None else int(self.valid.sum())


class Masking:
    """Choose a share of the words, and hide most of them: the mask token, another word, or the word itself."""

    def __init__(self, tokenizer: Tokenizer, share: float):
        self.share, self.mask = share, tokenizer.mask
        self.is_word = torch.ones(tokenizer.vocab, dtype=torch.bool)
        self.is_word[tokenizer.special] = False
        self.words = self.is_word.nonzero().flatten()

    def draw(
        self, tokens: Int[Tensor, "batch length"], most: int, dice: torch.Generator
    ) -> tuple[Int[Tensor, "batch length"], Int[Tensor, "batch chosen"], Bool[Tensor, "batch chosen"]]:
        """The tokens with words hidden, `most` places in each row, and which of these are of its share of words."""
        is_word = self.is_word[tokens]
        lots = torch.rand(tokens.shape, generator=dice).masked_fill(~is_word, 2.0)
        chosen = lots.argsort(1)[:, :most]
        wanted = (self.share * is_word.sum(1)).round().clamp(min=1).minimum(is_word.sum(1))
        counted = torch.arange(most) < wanted[:, None]
        fate = torch.rand(chosen.shape, generator=dice)
        others = self.words[torch.randint(len(self.words), chosen.shape, generator=dice)]
        there = tokens.gather(1, chosen)
        put = torch.where(fate < MASKED, self.mask, torch.where(fate < MASKED + REPLACED, others, there))
        return tokens.scatter(1, chosen, torch.where(counted, put, there)), chosen, counted


class MaskedWindows:
    """Windows between the start and the end token, as the texts are that such a model is later tuned to."""

    fixed_shape = True

    def __init__(self, tokens: np.ndarray, length: int, tokenizer: Tokenizer, share: float, batch: int, seed: int = 0):
        at_least(3, length=length)
        self.windows = Windows(tokens, length - 2, batch, seed)
        self.masking = Masking(tokenizer, share)
        self.most = max(1, round(share * self.windows.length))
        self.pad, self.start, self.end, self.seed = tokenizer.pad, tokenizer.start, tokenizer.end, seed

    @property
    def steps_per_epoch(self) -> int:
        return self.windows.steps_per_epoch

    def batch(self, step: int) -> MaskedBatch:
        dice = torch.Generator().manual_seed(seed_for("masks", self.seed, step))
        tokens, valid = self._framed(self.windows.batch(step))
        return self._batch(tokens, valid, *self.masking.draw(tokens, self.most, dice))

    def once(self) -> Iterator[MaskedBatch]:
        """Each window's masks are its own, whatever else is in the batch: scores do not depend on the batch's size."""
        number = 0
        for windows in self.windows.once():
            tokens, valid = self._framed(windows)
            drawn = []
            for row in tokens.split(1):
                dice = torch.Generator().manual_seed(seed_for("masks of window", number))
                drawn.append(self.masking.draw(row, self.most, dice))
                number += 1
            yield self._batch(tokens, valid, *(torch.cat(parts) for parts in zip(*drawn, strict=True)))

    def _batch(
        self, tokens: Tensor, valid: Tensor | None, hidden: Tensor, chosen: Tensor, counted: Tensor
    ) -> MaskedBatch:
        return MaskedBatch(hidden, valid, chosen, tokens.gather(1, chosen), counted)

    def _framed(self, windows: WindowBatch) -> tuple[Tensor, Tensor | None]:
        """Start, the window's tokens, end; then padding where the text ended before the window did."""
        sizes = windows.answer_valid.sum(1, keepdim=True)
        body = windows.tokens.masked_fill(~windows.answer_valid, self.pad)
        tokens = torch.nn.functional.pad(body, (1, 1), value=self.pad)
        tokens[:, 0] = self.start
        tokens.scatter_(1, sizes + 1, self.end)
        full = bool(windows.answer_valid.all())
        return tokens, None if full else torch.arange(tokens.shape[1]) < sizes + 2
