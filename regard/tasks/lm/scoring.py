"""Scoring texts with a language model: the log-probability of each token given those before it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from regard.core.machine import device_of
from regard.data.text.windows import Windows
from regard.text import Tokenizer

ROWS = 16  # windows in a batch


@dataclass(frozen=True)
class ScoredText:
    """The tokens of a text with their log-probabilities in nats; nothing comes before the first, which has none."""

    tokens: tuple[str, ...]
    log_probabilities: tuple[float | None, ...]

    @property
    def total(self) -> float:
        return sum(one for one in self.log_probabilities if one is not None)


@torch.inference_mode()
def score_texts(model: nn.Module, tokenizer: Tokenizer, texts: Sequence[str], length: int) -> list[ScoredText]:
    """As in evaluation, a text is read in windows of `length` tokens that do not overlap."""
    model.eval()
    scored = []
    for tokens in tokenizer.encode(list(texts)):
        logs: list[float] = []
        if len(tokens) > 1:
            for batch in Windows(np.array(tokens), length, ROWS).once():
                logits = model(batch.tokens.to(device_of(model))).float().cpu()
                each = F.log_softmax(logits, -1).gather(-1, batch.answer[..., None])[..., 0]
                logs += each[batch.answer_valid].tolist()
        first = (None,) if len(tokens) else ()
        scored.append(ScoredText(tuple(tokenizer.pieces(tokens)), (*first, *logs)))
    return scored
