"""The leak test: change what comes later, and nothing before may move."""

from collections.abc import Callable

import torch
from torch import Tensor


def check_no_future_leak(
    answer: Callable[[Tensor], Tensor], tokens: Tensor, vocab: int, tolerance: float = 1e-5
) -> None:
    """`answer` scores the next word after each token of each text. Every moment of the text `tokens` is tried."""
    length = len(tokens)
    later = torch.arange(length) > torch.arange(length)[:, None]  # row t: all after t is changed; the last row: nothing
    answers = answer(torch.where(later, (tokens + 1) % vocab, tokens))
    before = answers[-1]
    assert not torch.allclose(answers[0, -1], before[-1]), "nothing moves at all: the test would see no leak"
    for now in range(length - 1):
        moved = (answers[now, : now + 1] - before[: now + 1]).abs().amax()
        assert moved <= tolerance, f"the future of token {now} moved its answer by {moved:.2g}"
