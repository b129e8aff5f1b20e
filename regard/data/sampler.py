"""The order of examples: reshuffled every epoch, known from the seed alone, so that any step's batch can be named.

Nothing has to be remembered to resume: the batch of step 1,234 is the batch of step 1,234.
"""

from collections.abc import Sequence
from functools import lru_cache

import torch
from jaxtyping import Int
from torch import Tensor

from regard.core.errors import UserError
from regard.core.machine import seed_for


class Order:
    """Row numbers of each step's batch. Rows of similar size share a batch, so that little of it is padding."""

    def __init__(self, sizes: Sequence[int] | Tensor, batch: int, seed: int):
        if not len(sizes):
            raise UserError("there is nothing to train on: the data has no rows")
        self.sizes = torch.as_tensor(sizes)
        self.batch = min(batch, len(sizes))
        self.seed = seed
        self.steps_per_epoch = len(sizes) // self.batch
        self._epoch = lru_cache(maxsize=2)(self._shuffled)

    def rows(self, step: int) -> list[int]:
        epoch, number = divmod(step, self.steps_per_epoch)
        found: list[int] = self._epoch(epoch)[number].tolist()
        return found

    def _shuffled(self, epoch: int) -> Int[Tensor, "step row"]:
        """All batches of an epoch. The few rows that fill no batch are left out, others each time."""
        dice = torch.Generator().manual_seed(seed_for("order", self.seed, epoch))
        rows = torch.randperm(len(self.sizes), generator=dice)
        rows = rows[: self.steps_per_epoch * self.batch]
        pool = 50 * self.batch  # sorted by size inside a pool, which keeps batches varied from epoch to epoch
        parts = [part[self.sizes[part].argsort(stable=True)] for part in rows.split(pool)]
        batches = torch.cat(parts).int().view(-1, self.batch)
        return batches[torch.randperm(len(batches), generator=dice)]
