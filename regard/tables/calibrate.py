"""Calibration on held-out rows: of class probabilities by a temperature, of quantiles by their levels.

Label attention over many rows, averaged over ensemble members, spreads over all classes: the most probable class is
mostly right, but with too small a probability. A temperature keeps the order of the classes and corrects how confident
the predictions are (Guo et al., 2017).

Averages of several distributions are too wide. If 5 % of the held-out numbers lie below the quantile that was predicted
for 3 %, this one is taken for the quantile of 5 % (Kuleshov et al., 2018).
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from regard.tables.network.in_context_loss import quantile_levels
from regard.tables.predictor import interpolate_quantiles

TEMPERATURES = tuple(2 ** (-step / 4) for step in range(-4, 9))  # from 2 to 1/4
PRIOR_STD = 0.5  # of the log temperature: few held-out rows alone must not make predictions very confident
MIN_PROBABILITY = 1e-6
PRIOR_ROWS = 10  # that are calibrated: a few held-out rows alone must not move the quantiles far
BEYOND = 3.0  # how far a level may lie outside 0 and 1, where quantiles are extrapolated


def apply_temperature(probabilities: Float[Tensor, "row class"], temperature: float) -> Float[Tensor, "row class"]:
    if temperature == 1:
        return probabilities
    scaled = probabilities ** (1 / temperature)
    return scaled / scaled.sum(-1, keepdim=True)


def fit_temperature(probabilities: Float[Tensor, "row class"], classes: Float[Tensor, " row"]) -> float:
    """The temperature with the largest posterior, given the true classes of these rows."""

    def loss(temperature: float) -> float:
        true = apply_temperature(probabilities, temperature).gather(1, classes.long()[:, None])
        return -true.clamp(min=MIN_PROBABILITY).log().sum().item() + (math.log(temperature) / PRIOR_STD) ** 2 / 2

    return min(TEMPERATURES, key=loss)


def apply_levels(
    prediction: Float[Tensor, "row prediction"], levels: Float[Tensor, " quantile"] | None
) -> Float[Tensor, "row prediction"]:
    """The mean as it is, and the quantiles that were predicted for these levels."""
    if levels is None:
        return prediction
    return torch.cat([prediction[:, :1], interpolate_quantiles(prediction, levels)], 1)


def fit_levels(
    prediction: Float[Tensor, "row prediction"], numbers: Float[Tensor, " row"]
) -> Float[Tensor, " quantile"]:
    """The levels whose predicted quantiles had as many of these numbers below them as the quantiles should have."""
    levels = quantile_levels(prediction.shape[1] - 1).double()
    reached = _reached_levels(prediction[:, 1:].double(), numbers.double(), levels)
    prior = (torch.arange(PRIOR_ROWS, dtype=torch.double) + 0.5) / PRIOR_ROWS
    return torch.quantile(torch.cat([reached, prior]), levels)


def _reached_levels(
    quantiles: Float[Tensor, "row quantile"], numbers: Float[Tensor, " row"], levels: Float[Tensor, " quantile"]
) -> Float[Tensor, " row"]:
    """The level of each number among its own quantiles, on straight lines between and beyond them."""
    quantiles, numbers = quantiles.contiguous(), numbers[:, None]
    width = (quantiles[:, -1:] - quantiles[:, :1]).clamp(min=1e-30)
    sides = []
    for right in (False, True):  # a number that several quantiles are equal to has the level between them
        place = torch.searchsorted(quantiles, numbers, right=right).clamp(1, quantiles.shape[1] - 1)
        low, high = quantiles.gather(1, place - 1), quantiles.gather(1, place)
        part = (numbers - low) / (high - low).clamp(min=1e-3 * width / quantiles.shape[1])
        sides.append(torch.lerp(levels[place - 1], levels[place], part))
    return torch.stack(sides).mean(0)[:, 0].clamp(-BEYOND, 1 + BEYOND)
