"""Fill cells: hide cells of a table and say what they hold, those of the target among them (Kossen et al., 2021)."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.core.batches import Loss
from regard.data.batch import TensorBatch


@dataclass(frozen=True)
class CellBatch(TensorBatch):
    cells: Float[Tensor, "batch row column"]  # numbers, or codes of categories
    hidden: Bool[Tensor, "batch row column"]  # not shown
    asked: Bool[Tensor, "batch row column"]  # to be told
    truth: Float[Tensor, "batch row column"]
    features: float  # share of the loss that is about cells other than the target, which is the last column

    @property
    def rows(self) -> int:
        return len(self.cells)

    @property
    def size(self) -> int:
        return self.cells.numel()


@dataclass(frozen=True)
class FillCells:
    unit = "cells"

    def loss(self, model: nn.Module, batch: CellBatch) -> Loss:
        """The mean surprise of the asked cells of the target, and of all others, in the shares of the batch."""
        told = model(batch.cells, batch.hidden)
        surprise = torch.stack([_surprise(column, batch.truth[..., j]) for j, column in enumerate(told)], -1)
        asked = batch.asked.float()
        terms = surprise.masked_fill(~batch.asked, 0.0)
        target = terms[..., -1].sum() / asked[..., -1].sum().clamp(min=1)
        others = terms[..., :-1].sum() / asked[..., :-1].sum().clamp(min=1)
        return Loss((1 - batch.features) * target + batch.features * others, torch.tensor(1))


def _surprise(told: Tensor, truth: Tensor) -> Tensor:
    """Of a column of categories its nats, of numbers the squared error."""
    if told.shape[-1] == 1:
        return (told[..., 0].float() - truth).square()
    return F.cross_entropy(told.float().movedim(-1, 1), truth.long(), reduction="none")
