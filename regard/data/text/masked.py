"""Masked windows: running text with some tokens hidden, to be predicted from the rest (BERT: Devlin et al., 2019).

Which tokens are hidden depends on the seed and the step alone; in evaluation, on the window alone. Every window has
the same number of positions to predict, so shapes are fixed and logits are computed at these positions only.
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

MASKED, REPLACED = 0.8, 0.1  # of the chosen tokens; the rest stay, so a visible token may be right or wrong


@dataclass(frozen=True)
class MaskedBatch(TensorBatch):
    tokens: Int[Tensor, "batch length"]  # the model's input
    valid: Bool[Tensor, "batch length"] | None  # None: no padding
    chosen: Int[Tensor, "batch chosen"]  # positions to predict
    answer: Int[Tensor, "batch chosen"]  # the tokens at these positions
    chosen_valid: Bool[Tensor, "batch chosen"]  # False: the window has fewer positions to predict than others

    @property
    def rows(self) -> int:
        return len(self.tokens)

    @property
    def size(self) -> int:
        return self.tokens.numel() if self.valid is None else int(self.valid.sum())


class Masking:
    """Choose a fraction of the tokens; replace most with the mask token, some with random tokens, and keep the rest."""

    def __init__(self, tokenizer: Tokenizer, fraction: float):
        self.fraction, self.mask = fraction, tokenizer.mask
        self.is_word = torch.ones(tokenizer.vocab, dtype=torch.bool)
        self.is_word[tokenizer.special] = False
        self.words = self.is_word.nonzero().flatten()

    def draw(
        self, tokens: Int[Tensor, "batch length"], count: int, generator: torch.Generator
    ) -> tuple[Int[Tensor, "batch length"], Int[Tensor, "batch chosen"], Bool[Tensor, "batch chosen"]]:
        """The masked tokens, `count` chosen positions per row, and which of these count towards the loss."""
        is_word = self.is_word[tokens]
        order = torch.rand(tokens.shape, generator=generator).masked_fill(~is_word, 2.0)
        chosen = order.argsort(1)[:, :count]
        wanted = (self.fraction * is_word.sum(1)).round().clamp(min=1).minimum(is_word.sum(1))
        chosen_valid = torch.arange(count) < wanted[:, None]
        draw = torch.rand(chosen.shape, generator=generator)
        random = self.words[torch.randint(len(self.words), chosen.shape, generator=generator)]
        original = tokens.gather(1, chosen)
        replaced = torch.where(draw < MASKED, self.mask, torch.where(draw < MASKED + REPLACED, random, original))
        return tokens.scatter(1, chosen, torch.where(chosen_valid, replaced, original)), chosen, chosen_valid


class MaskedWindows:
    """Windows between a start and an end token, like the texts that the model is later fine-tuned on."""

    fixed_shape = True

    def __init__(
        self, tokens: np.ndarray, length: int, tokenizer: Tokenizer, fraction: float, batch: int, seed: int = 0
    ):
        at_least(3, length=length)
        self.windows = Windows(tokens, length - 2, batch, seed)
        self.masking = Masking(tokenizer, fraction)
        self.count = max(1, round(fraction * self.windows.length))
        self.pad, self.start, self.end, self.seed = tokenizer.pad, tokenizer.start, tokenizer.end, seed

    @property
    def steps_per_epoch(self) -> int:
        return self.windows.steps_per_epoch

    def batch(self, step: int) -> MaskedBatch:
        generator = torch.Generator().manual_seed(seed_for("masks", self.seed, step))
        tokens, valid = self._framed(self.windows.batch(step))
        return self._batch(tokens, valid, *self.masking.draw(tokens, self.count, generator))

    def once(self) -> Iterator[MaskedBatch]:
        """The masks of a window do not depend on the rest of the batch, so scores do not depend on the batch size."""
        number = 0
        for windows in self.windows.once():
            tokens, valid = self._framed(windows)
            drawn = []
            for row in tokens.split(1):
                generator = torch.Generator().manual_seed(seed_for("masks of window", number))
                drawn.append(self.masking.draw(row, self.count, generator))
                number += 1
            yield self._batch(tokens, valid, *(torch.cat(parts) for parts in zip(*drawn, strict=True)))

    def _batch(
        self, tokens: Tensor, valid: Tensor | None, masked: Tensor, chosen: Tensor, chosen_valid: Tensor
    ) -> MaskedBatch:
        return MaskedBatch(masked, valid, chosen, tokens.gather(1, chosen), chosen_valid)

    def _framed(self, windows: WindowBatch) -> tuple[Tensor, Tensor | None]:
        """Start token, window, end token; then padding if the text ended within the window."""
        sizes = windows.answer_valid.sum(1, keepdim=True)
        body = windows.tokens.masked_fill(~windows.answer_valid, self.pad)
        tokens = torch.nn.functional.pad(body, (1, 1), value=self.pad)
        tokens[:, 0] = self.start
        tokens.scatter_(1, sizes + 1, self.end)
        full = bool(windows.answer_valid.all())
        return tokens, None if full else torch.arange(tokens.shape[1]) < sizes + 2
