"""The leak test: change what comes later, and nothing before may move."""

from collections.abc import Callable

import torch
from torch import Tensor


def check_no_future_leak(answer: Callable[[Tensor], Tensor], tokens: Tensor, vocab: int, tolerance: float = 1e-5) -> None:
    """`answer` scores the next word after each token. Every moment of the text is tried."""
    before = answer(tokens)
    for now in range(tokens.shape[1] - 1):
        later = tokens.clone()
        later[:, now + 1 :] = (later[:, now + 1 :] + 1) % vocab
        after = answer(later)
        moved = (after[:, : now + 1] - before[:, : now + 1]).abs().amax()
        assert moved <= tolerance, f"the future of token {now} moved its answer by {moved:.2g}"
        if now == 0:
            assert not torch.allclose(after[:, -1], before[:, -1]), "nothing moves at all: the test would see no leak"
