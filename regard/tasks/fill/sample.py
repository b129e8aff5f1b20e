"""A sample of a masked language model: one sentence with a masked word, the same at every evaluation."""

import numpy as np
import torch
from torch import Tensor, nn

from regard.core.machine import device_of
from regard.text import Tokenizer
from regard.train import Sample

TOKENS = 40  # of the text


def filling_sample(tokenizer: Tokenizer, tokens: np.ndarray, length: int) -> Sample:
    """The first words of a text with the middle one masked: in brackets the model's word, below it the true one."""
    text = tokens[: max(1, min(TOKENS, length - 2))].tolist()
    place, special = len(text) // 2, set(tokenizer.special)

    def sample(model: nn.Module) -> str:
        masked = [tokenizer.start, *text[:place], tokenizer.mask, *text[place + 1 :], tokenizer.end]
        scores = model(_row(model, masked), chosen=_row(model, [place + 1]))[0, 0]
        best = next(token for token in scores.argsort(descending=True).tolist() if token not in special)
        before, true, filled = tokenizer.decode([text[:place], text[: place + 1], [*text[:place], best]])
        [text_filled] = tokenizer.decode([[*text[:place], best, *text[place + 1 :]]])
        word, true_word = filled.removeprefix(before), true.removeprefix(before).strip()
        space = word[: len(word) - len(word.lstrip())]
        return f"{before}{space}[{word.lstrip()}]{text_filled.removeprefix(filled)}\nmasked: {true_word}"

    return sample


def _row(model: nn.Module, numbers: list[int]) -> Tensor:
    return torch.tensor([numbers], device=device_of(model))
