"""More rows to learn from: each mixes the columns of two training rows, and the teacher labels it.

A teacher knows more than its training rows show; a student sees more of it at more places (Fakoor et al., 2020).
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from regard.core.machine import seed_for

SWAPPED = 0.3  # columns of a row that come from the other one


def mix_rows(
    values: Float[Tensor, "row cell"], columns: Sequence[Sequence[int]], count: int, seed: int
) -> Float[Tensor, "mixed cell"]:
    """Rows of which each column is that of one training row or of another."""
    generator = torch.Generator().manual_seed(seed_for("mix", seed))
    first, second = (torch.randint(0, len(values), (count,), generator=generator) for _ in range(2))
    owner = torch.zeros(values.shape[1], dtype=torch.long)
    for number, places in enumerate(columns):
        owner[list(places)] = number
    swapped = torch.rand(count, len(columns), generator=generator) < SWAPPED
    return torch.where(swapped[:, owner], values[second], values[first])
