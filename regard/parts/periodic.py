"""Numbers as inputs of a network: normal scores, periodic features, missing values (Gorishniy et al., 2022)."""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

KNOTS = 513  # of the distribution of a column
TAIL = 1e-3  # ranks are kept this far from 0 and 1, whose normal scores are infinite
FARTHEST = 4.0  # standard deviations at which a standardised number is clipped
INPUTS = 3  # of a number: its normal score, the standardised number, and whether it is missing


class NumberInputs(nn.Module):
    """Each number by its rank, mapped to a normal distribution, and by its size; both as the training rows have them.

    Ranks are robust to outliers and skew, sizes keep what ranks lose.
    """

    knots: Tensor
    mean: Tensor
    std: Tensor

    def __init__(self, columns: int):
        super().__init__()
        self.register_buffer("knots", torch.zeros(columns, KNOTS))
        self.register_buffer("mean", torch.zeros(columns))
        self.register_buffer("std", torch.ones(columns))

    def fit(self, values: Float[Tensor, "row column"]) -> None:
        """Take the distribution of each column; NaN is missing."""
        levels = torch.linspace(0, 1, KNOTS)
        for column, numbers in enumerate(values.unbind(1)):
            known = numbers[~numbers.isnan()].sort().values
            if len(known):
                places = levels.double() * (len(known) - 1)
                below = places.long()
                above = (below + 1).clamp(max=len(known) - 1)
                self.knots[column] = torch.lerp(known[below], known[above], (places - below).to(known.dtype))
                self.mean[column] = known.double().mean()
                self.std[column] = known.double().std(correction=0).clamp(min=1e-9)

    def forward(self, values: Float[Tensor, "row column"]) -> Float[Tensor, "row column input"]:
        missing = values.isnan()
        numbers = values.nan_to_num(0.0)
        score = torch.special.ndtri(self._rank(numbers).clamp(TAIL, 1 - TAIL))
        size = ((numbers - self.mean) / self.std).clamp(-FARTHEST, FARTHEST)
        inputs = torch.stack([score, size, torch.zeros_like(size)], -1)
        absent = inputs.new_tensor([0.0, 0.0, 1.0])
        return torch.where(missing[..., None], absent, inputs)

    def _rank(self, numbers: Float[Tensor, "row column"]) -> Float[Tensor, "row column"]:
        """Between 0 and 1, linear between knots; equal numbers have the middle rank of their knots."""
        sought = numbers.T.contiguous()
        first = torch.searchsorted(self.knots, sought)
        after = torch.searchsorted(self.knots, sought, right=True)
        left, right = (first - 1).clamp(min=0), first.clamp(max=KNOTS - 1)
        low, high = self.knots.gather(1, left), self.knots.gather(1, right)
        between = left + ((sought - low) / (high - low).clamp(min=1e-30)).clamp(0, 1)
        tied = (first + after - 1) / 2
        return torch.where(after > first, tied, between).T / (KNOTS - 1)


class PeriodicEmbedding(nn.Module):
    """Sines and cosines of a number at learned frequencies, then a layer of its own for each column."""

    def __init__(self, columns: int, frequencies: int, width: int, std: float):
        super().__init__()
        self.frequency = nn.Parameter(torch.randn(columns, frequencies) * std)
        self.weight = nn.Parameter(torch.randn(columns, 2 * frequencies, width) * (2 * frequencies) ** -0.5)
        self.bias = nn.Parameter(torch.zeros(columns, width))

    def forward(self, numbers: Float[Tensor, "row column"]) -> Float[Tensor, "row column width"]:
        angle = 2 * math.pi * numbers[..., None] * self.frequency
        waves = torch.cat([angle.sin(), angle.cos()], -1)
        return (torch.einsum("rcw,cwe->rce", waves, self.weight) + self.bias).relu()
