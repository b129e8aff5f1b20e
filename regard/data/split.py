"""A validation split drawn at random from the training rows, the same one each time."""

from collections import Counter
from collections.abc import Hashable, Sequence

import torch

from regard.core.machine import seed_for


def validation_rows(labels: Sequence[Hashable], fraction: float) -> list[int]:
    """The indices of the rows held out for validation; every label keeps at least one training row."""
    generator = torch.Generator().manual_seed(seed_for("held out"))
    left, chosen = Counter(labels), set[int]()
    for number in torch.randperm(len(labels), generator=generator).tolist():
        if len(chosen) < max(1, round(fraction * len(labels))) and left[labels[number]] > 1:
            left[labels[number]] -= 1
            chosen.add(number)
    return sorted(chosen)
