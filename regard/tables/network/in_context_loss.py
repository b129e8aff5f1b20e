"""The objective of in-context learning on tables: predict the targets of query rows from context rows."""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.core.batches import Loss
from regard.data.tables.batch import TableBatch

MIN_PROBABILITY = 1e-4  # of all classes together, where no training row has them


@dataclass(frozen=True)
class InContextObjective:
    squared_error: float = 0.5  # weight of the squared error of a numeric target, beside the pinball loss
    unit = "cells"

    def loss(self, model: nn.Module, batch: Iterable[TableBatch]) -> Loss:
        return in_context_loss(model, batch, self.squared_error)


def in_context_loss(model: nn.Module, batch: Iterable[TableBatch], squared_error: float = 0.5) -> Loss:
    """The mean loss of each table, summed: a table with many query rows counts no more than another."""
    total, tables = torch.zeros(()), 0
    for group in batch:
        losses = query_losses(model, group, squared_error)
        counted = ~group.target[:, group.context :].isnan()
        total = total + (losses.where(counted, 0.0).sum(1) / counted.sum(1).clamp(min=1)).sum()
        tables += group.tables
    return Loss(total, torch.tensor(tables))


def query_losses(model: nn.Module, group: TableBatch, squared_error: float) -> Float[Tensor, "table query"]:
    """The loss of every query row; NaN where its target is unknown."""
    context, query = group.target[:, : group.context], group.target[:, group.context :]
    prediction = model(group.values, group.category, context, group.classes, group.column_codes, group.source)
    if group.classes:
        probability = prediction.gather(-1, query.nan_to_num(0.0).long()[..., None])[..., 0]
        return torch.where(query.isnan(), torch.nan, -smooth_probabilities(probability, group.classes).log())
    mean, quantiles = prediction[..., 0], prediction[..., 1:]
    error = query[..., None] - quantiles
    level = quantile_levels(quantiles.shape[-1]).to(error.device)
    pinball = torch.maximum(level * error, (level - 1) * error).mean(-1)
    return 2 * pinball + squared_error * (query - mean).square()


def smooth_probabilities(probabilities: Tensor, classes: int) -> Tensor:
    """Probabilities none of which is zero."""
    return probabilities * (1 - MIN_PROBABILITY) + MIN_PROBABILITY / classes


def quantile_levels(count: int) -> Float[Tensor, " quantile"]:
    """Evenly spaced levels, such as 1/4, 1/2 and 3/4."""
    return torch.arange(1, count + 1) / (count + 1)
