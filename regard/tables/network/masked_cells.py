"""The objective of the Non-Parametric Transformer: predict masked cells, features and target (Kossen et al., 2021)."""

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
    masked: Bool[Tensor, "batch row column"]  # not visible to the model
    predicted: Bool[Tensor, "batch row column"]  # cells that the loss is about
    truth: Float[Tensor, "batch row column"]
    features: float  # weight of the loss of features; the target is the last column

    @property
    def rows(self) -> int:
        return len(self.cells)

    @property
    def size(self) -> int:
        return self.cells.numel()


@dataclass(frozen=True)
class MaskedCellsObjective:
    unit = "cells"

    def loss(self, model: nn.Module, batch: CellBatch) -> Loss:
        return masked_cells_loss(model, batch)


def masked_cells_loss(model: nn.Module, batch: CellBatch) -> Loss:
    """The mean loss of the target's predicted cells and that of the features', weighted as the batch says."""
    predictions = model(batch.cells, batch.masked)
    losses = torch.stack([_cell_losses(column, batch.truth[..., j]) for j, column in enumerate(predictions)], -1)
    counts = batch.predicted.float()
    terms = losses.masked_fill(~batch.predicted, 0.0)
    target = terms[..., -1].sum() / counts[..., -1].sum().clamp(min=1)
    features = terms[..., :-1].sum() / counts[..., :-1].sum().clamp(min=1)
    return Loss((1 - batch.features) * target + batch.features * features, torch.tensor(1))


def _cell_losses(prediction: Tensor, truth: Tensor) -> Tensor:
    """Cross-entropy of a categorical column, squared error of a numeric one."""
    if prediction.shape[-1] == 1:
        return (prediction[..., 0].float() - truth).square()
    return F.cross_entropy(prediction.float().movedim(-1, 1), truth.long(), reduction="none")
