"""Read a table: from rows whose targets are known, say what the targets of others are."""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.core.batches import Loss
from regard.data.tables.batch import TableBatch

LEAST = 1e-4  # probability of a class that nobody voted for


@dataclass(frozen=True)
class ReadTable:
    squares: float = 0.5  # weight of the squared error of a number, beside that of its quantiles
    unit = "cells"

    def loss(self, model: nn.Module, batch: Iterable[TableBatch]) -> Loss:
        """The mean surprise of each table, summed: a table with many rows to answer counts no more than another."""
        total, tables = torch.zeros(()), 0
        for group in batch:
            surprise = self.surprise(model, group)
            asked = ~group.target[:, group.known :].isnan()
            total = total + (surprise.where(asked, 0.0).sum(1) / asked.sum(1).clamp(min=1)).sum()
            tables += group.tables
        return Loss(total, torch.tensor(tables))

    def surprise(self, model: nn.Module, group: TableBatch) -> Float[Tensor, "table asked"]:
        """Of every row that is asked; NaN where nothing can be."""
        known, asked = group.target[:, : group.known], group.target[:, group.known :]
        answer = model(group.values, group.category, known, group.classes, group.codes)
        if group.classes:
            chance = answer.gather(-1, asked.nan_to_num(0.0).long()[..., None])[..., 0]
            return torch.where(asked.isnan(), torch.nan, -class_chances(chance, group.classes).log())
        mean, quantiles = answer[..., 0], answer[..., 1:]
        off = asked[..., None] - quantiles
        level = quantile_levels(quantiles.shape[-1]).to(off.device)
        pinball = torch.maximum(level * off, (level - 1) * off).mean(-1)
        return 2 * pinball + self.squares * (asked - mean).square()


def class_chances(votes: Tensor, classes: int) -> Tensor:
    """Votes as probabilities, none of which is nothing."""
    return votes * (1 - LEAST) + LEAST / classes


def quantile_levels(count: int) -> Float[Tensor, " quantile"]:
    """Evenly spread shares, such as 1/4, 1/2 and 3/4."""
    return torch.arange(1, count + 1) / (count + 1)
