"""Copies: rows that stand for one row with a weight. To leave one of them out is to leave out all.

A row that is left out without its copies would still be predicted from its own label. Rows of a table that are equal by
themselves are no copies: in a table of few categories they are information like any other.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor


@dataclass(frozen=True)
class Copies:
    """Which context rows are copies of the same row, in every table of a batch."""

    group: Int[Tensor, " context"]  # the number of the distinct row that each is a copy of
    first: Int[Tensor, " distinct"]  # the first copy of each
    counts: Float[Tensor, " distinct"]  # copies of each, itself among them

    @classmethod
    def of(cls, source: Int[Tensor, " context"] | None) -> "Copies | None":
        """By a number for each row that only its copies share; None if no row has another copy."""
        if source is None:
            return None
        distinct, group, counts = source.unique(return_inverse=True, return_counts=True)
        if len(distinct) == len(source):
            return None
        places = torch.arange(len(source), device=source.device)
        first = places.new_full((len(distinct),), len(source)).scatter_reduce(0, group, places, "amin")
        return cls(group, first, counts.float())

    @property
    def of_each(self) -> Float[Tensor, " context"]:
        """How many copies there are of each row."""
        return self.counts[self.group]

    def distinct(self, rows: Float[Tensor, "table context value"]) -> Float[Tensor, "table distinct value"]:
        """One of the copies of each row."""
        return rows[:, self.first]

    def earliest(self, places: Int[Tensor, "table context column"]) -> Int[Tensor, "table context column"]:
        """The first place of any copy of each row, in each column."""
        index = self.group[None, :, None].expand_as(places)
        least = places.new_full((len(places), len(self.first), places.shape[2]), places.shape[1])
        return least.scatter_reduce(1, index, places, "amin")[:, self.group]
