"""What a fitted table is made of: predictors, each of which has learned one target."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from regard.tables.encode.table import EncodedTable
from regard.tables.network.in_context_loss import quantile_levels
from regard.tables.ranges import check_levels as check_levels


@runtime_checkable
class Predictor(Protocol):
    """A model of one table and target."""

    @property
    def attends_to_labels(self) -> bool:
        """Whether `row_weights` are the weights of labels in the prediction, and not of attention on the way."""

    def predict(self, values: Float[Tensor, "row column"]) -> Float[Tensor, "row prediction"]:
        """The probability of each class; or the mean and the quantiles of a number."""

    def row_weights(self, values: Float[Tensor, "row column"]) -> Float[Tensor, "row context"]:
        """The weight of each training row in the prediction of each row; they sum to one."""


def held_out_loss(prediction: Float[Tensor, "row prediction"], rows: EncodedTable) -> float:
    """Log-loss of classes, mean squared error of numbers."""
    if rows.classes:
        return -prediction.gather(1, rows.target.long()[:, None]).clamp(min=1e-6).log().mean().item()
    return (prediction[:, 0] - rows.target).square().mean().item()


def interpolate_quantiles(
    prediction: Float[Tensor, "row prediction"], levels: Sequence[float] | Float[Tensor, " level"]
) -> Float[Tensor, "row level"]:
    """Any quantiles of a predicted number, on straight lines between those that are predicted, and beyond them."""
    known = quantile_levels(prediction.shape[1] - 1).to(prediction.dtype)
    heights = prediction[:, 1:]
    wanted = torch.as_tensor(levels, dtype=prediction.dtype)
    place = torch.searchsorted(known, wanted).clamp(1, len(known) - 1)
    weight = (wanted - known[place - 1]) / (known[place] - known[place - 1])
    return torch.lerp(heights[:, place - 1], heights[:, place], weight)
