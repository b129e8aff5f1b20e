"""The target of a table: classes or numbers as people have them, and as the network counts them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

KNOTS = 512  # points by which a bent scale is kept


@dataclass(frozen=True)
class Scale:
    """How numbers are shown to the network: with mean 0 and deviation 1, straight or bent to a bell.

    A bent scale takes each number to where its rank would stand in a normal distribution: the tail of a skewed target
    then no longer outweighs the rest. Between the numbers that were seen it is straight, and beyond them too.
    """

    numbers: Float[Tensor, " knot"]  # rising
    places: Float[Tensor, " knot"]

    @classmethod
    def straight(cls, numbers: Float[Tensor, " row"]) -> "Scale":
        center, spread = numbers.mean(), numbers.std(correction=0).clamp(min=1e-12)
        if not spread > 1e-9 * center.abs():  # all the same
            spread = torch.ones_like(spread)
        return cls(torch.stack([center, center + spread]), torch.tensor([0.0, 1.0], dtype=numbers.dtype))

    @classmethod
    def bent(cls, numbers: Float[Tensor, " row"]) -> "Scale":
        distinct, counts = numbers.sort().values.unique_consecutive(return_counts=True)
        if len(distinct) < 3:
            return cls.straight(numbers)
        middle = (counts.cumsum(0) - 0.5 * counts) / counts.sum()
        places = torch.special.ndtri(middle)
        chosen = torch.linspace(0, len(distinct) - 1, min(KNOTS, len(distinct))).round().long()
        places = (places - places.mean()) / places.std(correction=0)
        return cls(distinct[chosen], places[chosen])

    def show(self, numbers: Tensor) -> Tensor:
        return _along(numbers, self.numbers, self.places)

    def back(self, places: Tensor) -> Tensor:
        return _along(places, self.places, self.numbers)


def _along(x: Tensor, knots: Tensor, heights: Tensor) -> Tensor:
    """The broken line through the knots, its first and last piece going on for ever."""
    x = x.to(knots.dtype)
    piece = torch.searchsorted(knots, x.contiguous()).clamp(1, len(knots) - 1)
    left, right = knots[piece - 1], knots[piece]
    share = (x - left) / (right - left)
    return heights[piece - 1] + share * (heights[piece] - heights[piece - 1])


@dataclass(frozen=True)
class Classes:
    """Labels of any kind by their number, in sorted order."""

    labels: np.ndarray[Any, Any]

    @classmethod
    def learn(cls, y: np.ndarray[Any, Any]) -> tuple["Classes", Float[Tensor, " row"]]:
        labels, codes = np.unique(y, return_inverse=True)
        return cls(labels), torch.from_numpy(codes.reshape(-1)).float()
