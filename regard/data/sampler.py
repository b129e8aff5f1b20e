"""The sampler: which rows form the batch of each step, reshuffled every epoch from the seed alone.

Resuming needs no saved state: the batch of step 1,234 is always the batch of step 1,234.
"""

from collections.abc import Sequence
from functools import lru_cache

import torch
from jaxtyping import Int
from torch import Tensor

from regard.core.errors import UserError
from regard.core.machine import seed_for


class Sampler:
    """Row indices of each step's batch. Rows of similar length share a batch, which keeps padding small."""

    def __init__(self, lengths: Sequence[int] | Tensor, batch: int, seed: int):
        if not len(lengths):
            raise UserError("the training data has no rows")
        self.lengths = torch.as_tensor(lengths)
        self.batch = min(batch, len(lengths))
        self.seed = seed
        self.steps_per_epoch = len(lengths) // self.batch
        self._epoch = lru_cache(maxsize=2)(self._shuffled)

    def rows(self, step: int) -> list[int]:
        epoch, number = divmod(step, self.steps_per_epoch)
        rows: list[int] = self._epoch(epoch)[number].tolist()
        return rows

    def _shuffled(self, epoch: int) -> Int[Tensor, "step row"]:
        """All batches of an epoch. The last, incomplete batch is dropped; which rows it holds changes every epoch."""
        generator = torch.Generator().manual_seed(seed_for("order", self.seed, epoch))
        rows = torch.randperm(len(self.lengths), generator=generator)
        rows = rows[: self.steps_per_epoch * self.batch]
        pool = 50 * self.batch  # rows are sorted by length within a pool, so batches still vary between epochs
        pools = [part[self.lengths[part].argsort(stable=True)] for part in rows.split(pool)]
        batches = torch.cat(pools).int().view(-1, self.batch)
        return batches[torch.randperm(len(batches), generator=generator)]
