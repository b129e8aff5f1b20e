"""The surprise of a cell: minus the logarithm of its probability, in bits, beyond what was to be expected.

It is the larger of two: that of the cell in its column alone, which sees what is rare, and that of the cell given the
rest of its row, which sees what does not fit together. A prediction may be too sure of itself; so some of the column's
own distribution is mixed into it, which bounds the price of a wrong one.

A number is as probable as quantiles say: evenly spread between two of them and, beyond the outer ones, with a tail that
falls as a power of the distance, so that no single outlier is infinitely surprising. It counts with the resolution of
its column, as 17 stands for 16.5 to 17.5; so columns with many equal numbers need no special case.

Subtracting the expected surprise, which is the entropy of the distribution, makes columns comparable: the cells of a
column of noise are as surprising as they were expected to be, and contribute nothing on average.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.tables.network.in_context_loss import quantile_levels

TAIL = 4.0  # exponent of the tails
NORMAL = 0.75  # least scale of a tail, relative to the distance of the quartiles
OUTER = 4  # outermost intervals, from which a tail is extrapolated
BITS = 1 / math.log(2)
FINEST = 1e-4  # resolution relative to the spread of a column: finer differences are noise
TINY = 1e-300
OWN = 0.01  # of the column's own distribution in a prediction
QUANTILES = 33


def level_surprise(
    probabilities: Float[Tensor, "row level"],
    frequencies: Float[Tensor, " level"],
    codes: Int[Tensor, " row"],
    unseen: float,
) -> Float[Tensor, " row"]:
    """Of levels by their codes, -1 for one that the context does not have; the probability of those is `unseen`."""
    column = frequencies.double().expand(len(codes), -1)
    mixed = (1 - OWN) * probabilities.double() + OWN * column
    return torch.maximum(_level_excess(mixed, codes, unseen), _level_excess(column, codes, unseen))


def _level_excess(
    probabilities: Float[Tensor, "row level"], codes: Int[Tensor, " row"], unseen: float
) -> Float[Tensor, " row"]:
    known = probabilities * (1 - unseen)
    everything = torch.cat([known, torch.full((len(known), 1), unseen, dtype=torch.double)], 1).clamp(min=TINY)
    bits = -everything.log() * BITS
    own = bits.gather(1, torch.where(codes < 0, known.shape[1], codes)[:, None])[:, 0]
    return own - (everything * bits).sum(1)


def unseen_probability(codes: Int[Tensor, " context"], dropped: int = 0) -> float:
    """The probability of a level that the context does not have (Good & Turing, 1953).

    It is the fraction of rows whose level occurs once; `dropped` are rows of levels that are not predicted.
    """
    once = int((torch.bincount(codes) == 1).sum()) if len(codes) else 0
    return min(0.5, (once + dropped + 0.5) / (len(codes) + dropped + 1))


def number_surprise(
    predicted: "QuantileLaw", column: "QuantileLaw", numbers: Float[Tensor, " row"]
) -> Float[Tensor, " row"]:
    """Of numbers, given their predicted distributions and that of the column."""

    def mixed(places: Float[Tensor, "row place"]) -> Float[Tensor, "row place"]:
        return -((1 - OWN) * predicted.mass(places) + OWN * column.mass(places)).log() * BITS

    def alone(places: Float[Tensor, "row place"]) -> Float[Tensor, "row place"]:
        return -column.mass(places).log() * BITS

    cells = numbers.double()[:, None]
    typical, usual = predicted.typical(), column.typical()
    expected = (1 - OWN) * mixed(typical).mean(1) + OWN * mixed(usual).mean(1)
    return torch.maximum(mixed(cells)[:, 0] - expected, alone(cells)[:, 0] - alone(usual).mean(1))


def resolution_of(numbers: Float[Tensor, " row"]) -> float:
    """The least difference between two numbers of a column."""
    distinct = numbers.double().unique()
    if len(distinct) < 2:
        return 1.0
    spread = torch.quantile(distinct, 0.9) - torch.quantile(distinct, 0.1)
    return float(torch.maximum(distinct.diff().min(), FINEST * spread))


@dataclass(frozen=True)
class QuantileLaw:
    """A distribution for each row: quantiles, even between them, with tails beyond."""

    quantiles: Float[Tensor, "row quantile"]
    resolution: float

    @classmethod
    def of(cls, quantiles: Float[Tensor, "row quantile"], resolution: float) -> "QuantileLaw":
        return cls(quantiles.double().sort(1).values.contiguous(), resolution)

    @classmethod
    def of_column(cls, numbers: Float[Tensor, " context"], rows: int, resolution: float) -> "QuantileLaw":
        """The distribution of a column, the same for so many rows."""
        levels = quantile_levels(QUANTILES).double()
        return cls.of(torch.quantile(numbers.double(), levels)[None].repeat(rows, 1), resolution)

    @property
    def step(self) -> float:
        """The probability between two quantiles, and in each tail."""
        return 1 / (self.quantiles.shape[1] + 1)

    def mass(self, numbers: Float[Tensor, "row number"]) -> Float[Tensor, "row number"]:
        """The probability of a number at the resolution of the column."""
        half = self.resolution / 2
        below, above = self.tails(numbers - half), self.tails(numbers + half)
        # Differences of small probabilities are exact, those of numbers near one are not.
        lower = numbers < self.quantiles.median(1, keepdim=True).values
        return torch.where(lower, above[0] - below[0], below[1] - above[1]).clamp(min=TINY)

    def tails(self, numbers: Float[Tensor, "row number"]) -> tuple[Tensor, Tensor]:
        """The probabilities of less and of more."""
        q, count = self.quantiles, self.quantiles.shape[1]
        place = torch.searchsorted(q, numbers.contiguous())
        inner = place.clamp(1, count - 1)
        left, right = q.gather(1, inner - 1), q.gather(1, inner)
        part = ((numbers - left) / (right - left).clamp(min=1e-30)).clamp(0, 1)
        less, more = (inner + part) * self.step, (count - inner + 1 - part) * self.step
        low_scale, high_scale = self._scales()
        under = self.step * (1 + (q[:, :1] - numbers).clamp(min=0) / low_scale) ** -TAIL
        over = self.step * (1 + (numbers - q[:, -1:]).clamp(min=0) / high_scale) ** -TAIL
        less = torch.where(place == 0, under, torch.where(place == count, 1 - over, less))
        more = torch.where(place == 0, 1 - under, torch.where(place == count, over, more))
        return less, more

    def typical(self) -> Float[Tensor, "row interval"]:
        """One number of each interval and tail: its middle or, in a tail, where the surprise is that of its mean."""
        q = self.quantiles
        low_scale, high_scale = self._scales()
        away = math.exp(1 / TAIL) - 1
        return torch.cat([q[:, :1] - away * low_scale, (q[:, 1:] + q[:, :-1]) / 2, q[:, -1:] + away * high_scale], 1)

    def _scales(self) -> tuple[Tensor, Tensor]:
        """Of the tails: as dense as the nearest few intervals, but no lighter than those of a normal distribution."""
        q, count = self.quantiles, min(OUTER, self.quantiles.shape[1] - 1)
        quarter = self.quantiles.shape[1] // 4
        floor = (NORMAL * (q[:, [-1 - quarter]] - q[:, [quarter]])).clamp(min=self.resolution / 2)
        low, high = (q[:, [count]] - q[:, :1]) / count, (q[:, -1:] - q[:, [-1 - count]]) / count
        return (TAIL * low).maximum(floor), (TAIL * high).maximum(floor)
