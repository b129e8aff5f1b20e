"""Rows held out to measure by: drawn at random, the same ones each time."""

from collections import Counter
from collections.abc import Hashable, Sequence

import torch

from regard.core.machine import seed_for


def held_out(labels: Sequence[Hashable], part: float) -> list[int]:
    """The numbers of the rows drawn apart; every label keeps a row to be learned from."""
    dice = torch.Generator().manual_seed(seed_for("held out"))
    left, apart = Counter(labels), set[int]()
    for number in torch.randperm(len(labels), generator=dice).tolist():
        if len(apart) < max(1, round(part * len(labels))) and left[labels[number]] > 1:
            left[labels[number]] -= 1
            apart.add(number)
    return sorted(apart)
