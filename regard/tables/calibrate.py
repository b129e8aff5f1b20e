"""Calibration on held-out rows: of class probabilities by a temperature, of numbers by a scale and by levels.

Label attention over many rows, averaged over ensemble members, spreads over all classes: the most probable class is
mostly right, but with too small a probability. A temperature keeps the order of the classes and corrects how confident
the predictions are (Guo et al., 2017).

Averages of several distributions are too wide. If 5 % of the held-out numbers lie below the quantile that was predicted
for 3 %, this one is taken for the quantile of 5 % (Kuleshov et al., 2018).

Sums of predictions, such as budgets and reserves, must be right: if all targets have one sign and the predictions for
held-out rows have another mean than the targets, by more than chance, all predicted means are scaled.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from regard.tables.encode.table import EncodedTable
from regard.tables.network.in_context_loss import quantile_levels
from regard.tables.predictor import interpolate_quantiles

MIN_ROWS_OF_TWO_CLASSES = 500  # held-out rows; two classes are rarely predicted with too small a probability
MAX_SCALE = 4.0  # and at least one over it
SIGNIFICANT = 2.0  # standard errors

TEMPERATURES = tuple(2 ** (-step / 4) for step in range(-4, 9))  # from 2 to 1/4
PRIOR_STD = 0.5  # of the log temperature: few held-out rows alone must not make predictions very confident
MIN_PROBABILITY = 1e-6
PRIOR_ROWS = 10  # that are calibrated: a few held-out rows alone must not move the quantiles far
BEYOND = 3.0  # how far a level may lie outside 0 and 1, where quantiles are extrapolated


@dataclass(frozen=True)
class Calibration:
    """How predictions are corrected."""

    temperature: float = 1.0
    levels: Float[Tensor, " quantile"] | None = None
    scale: float = 1.0  # of the mean
    sign: int = 0  # 1 if no training target is negative, -1 if none is positive: then no prediction is either

    def apply(self, prediction: Float[Tensor, "row prediction"]) -> Float[Tensor, "row prediction"]:
        calibrated = apply_levels(apply_temperature(prediction, self.temperature), self.levels)
        if self.scale != 1:
            calibrated = torch.cat([calibrated[:, :1] * self.scale, calibrated[:, 1:]], 1)
        if self.sign:
            calibrated = calibrated.clamp(min=0) if self.sign > 0 else calibrated.clamp(max=0)
        return calibrated

    @classmethod
    def of_target(cls, table: EncodedTable) -> "Calibration":
        """All that is known without held-out rows."""
        if table.classes:
            return cls()
        return cls(sign=int((table.target >= 0).all()) - int((table.target <= 0).all()))

    @classmethod
    def fit(
        cls, prediction: Float[Tensor, "row prediction"], held_out: EncodedTable, table: EncodedTable
    ) -> "Calibration":
        """By what is predicted for held-out rows of a table."""
        if not table.classes:
            sign = cls.of_target(table).sign
            levels = fit_levels(prediction, held_out.target)
            scale = fit_scale(prediction[:, 0], held_out.target, table.target.mean().item()) if sign else 1.0
            return cls(levels=levels, scale=scale, sign=sign)
        if table.classes > 2 or len(held_out.target) >= MIN_ROWS_OF_TWO_CLASSES:
            return cls(fit_temperature(prediction, held_out.target))
        return cls()


def fit_scale(predicted: Float[Tensor, " row"], numbers: Float[Tensor, " row"], mean: float) -> float:
    """The factor that gives predictions the mean of the target, as far as they differ by more than chance.

    The gap between them is measured on the held-out rows or, if that is more precise, against the mean of all rows:
    of a skewed target a few hundred rows have too uncertain a mean.
    """
    predicted, numbers = predicted.double(), numbers.double()
    average, root = predicted.mean().item(), math.sqrt(len(numbers))
    gaps = (
        (((numbers - predicted).std() / root).item(), numbers.mean().item() - average),
        ((predicted.std() / root).item(), mean - average),
    )
    error, gap = min(gaps)
    if not abs(gap) > SIGNIFICANT * error or not average * mean > 0:
        return 1.0
    certain = 1 - (SIGNIFICANT * error / gap) ** 2
    return min(max(1 + certain * gap / average, 1 / MAX_SCALE), MAX_SCALE)


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
