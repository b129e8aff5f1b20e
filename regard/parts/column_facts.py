"""What a cell is among the cells of its column: facts that need no weights, from the rows whose labels are known.

A number by itself says little; that it is the largest of its column, that a third of the rows share it, and which
labels the rows with similar cells have, says much. Similar means: the same value, or one of the nearest by rank, at a
few distances. All of it comes from sorted columns and running sums of labels, so it costs about as much as sorting.
"""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

NEAR = (0.0, 1 / 32, 1 / 8)  # shares of a column to either side whose labels are counted; 0: equal cells only
WAVES = (1.0, 2.0, 4.0)  # of the rank
FACTS = 5 + 2 * len(WAVES)
SCALE = 8.0  # brings logarithms of counts near one
EVEN = 1e-12  # of the mean: a deviation below it is an error of the arithmetic
FAR = 3.0  # deviations: beyond, numbers are compressed

Values = Float[Tensor, "table row column"]
Labels = Float[Tensor, "table row label"]
KnownLabels = Float[Tensor, "table known label"]


@dataclass(frozen=True)
class ColumnFacts:
    """A table's columns, learned from its known rows."""

    center: Float[Tensor, "table column"]
    spread: Float[Tensor, "table column"]
    ordered: Float[Tensor, "table column row"]  # cells in order, missing ones last
    filled: Float[Tensor, "table column"]  # how many are not missing
    sums: Float[Tensor, "table column row+1 label"]  # of the labels, in that order
    place: Int[Tensor, "table row column"]  # of each known row's cell in that order; equal cells stand at random
    category: Bool[Tensor, "table column"]

    @classmethod
    def learn(cls, values: Values, labels: Labels, category: Bool[Tensor, "table column"]) -> "ColumnFacts":
        columns = values.transpose(1, 2)
        there = ~columns.isnan()
        filled = there.sum(-1).float()
        shown = columns.nan_to_num(0.0).double()  # a column of huge numbers must not overflow, nor a tiny one vanish
        center = shown.sum(-1) / filled.clamp(min=1)
        away = torch.where(there, shown - center[..., None], 0.0)
        spread = (away.square().sum(-1) / filled.clamp(min=1)).sqrt()
        spread = torch.where(spread > EVEN * center.abs(), spread, 1.0)
        mixed = torch.randperm(values.shape[1], generator=torch.Generator().manual_seed(0)).to(values.device)
        ordered, order = columns.nan_to_num(torch.inf)[..., mixed].sort(stable=True, dim=-1)
        order = mixed[order]
        tables = torch.arange(len(values), device=values.device)[:, None, None]
        sums = labels[tables, order].cumsum(2)
        sums = torch.cat([torch.zeros_like(sums[:, :, :1]), sums], 2)
        return cls(center, spread, ordered, filled, sums, order.argsort(-1).transpose(1, 2), category)

    @property
    def counts(self) -> Bool[Tensor, "table column"]:
        """Columns whose cells can be added up: numbers, and categories of two kinds, which are coded 0 and 1."""
        return ~self.category | (self.ordered.nan_to_num(posinf=0.0).amax(-1) <= 1)

    def reordered(self, order: Int[Tensor, " label"]) -> "ColumnFacts":
        """The same for labels in another order."""
        return replace(self, sums=self.sums[..., order])

    def _unseen(self, values: Values) -> Bool[Tensor, "table row column"]:
        """Categories beyond those that were learned: their codes are no amounts, least of all beside yes and no."""
        return self.category[:, None] & (values > self.ordered.nan_to_num(posinf=-torch.inf).amax(-1)[:, None])

    def describe(
        self, values: Values, own: KnownLabels | None = None
    ) -> tuple[Float[Tensor, "table row column fact"], Float[Tensor, "table row column near said"]]:
        """What each cell is, and what the rows with similar cells say.

        `own` are the labels of the first rows, where these were learned from: nobody is told his own label.
        """
        first, last = self._equals(values)
        return self._standing(values, first, last), self._said(values.isnan(), first, last, own)

    def standing(self, values: Values) -> Float[Tensor, "table row column fact"]:
        """What each cell is."""
        return self._standing(values, *self._equals(values))

    def mean_labels(self, values: Values, known: int, labels: int) -> Float[Tensor, "table row column few"]:
        """The mean of the first few labels among the rows with the same cell, in deviations of the label.

        The first rows, where these are the `known` ones, are told of those rows only that stand before them: the mean
        of all others would tell the row's own label, as what is missing from it (Prokhorenkova et al., 2018).
        """
        first, last = self._equals(values)
        end = torch.cat([self.place[:, :known].float(), last[:, known:]], 1)
        sums = self.sums[..., :labels]
        total = self._between(sums, first.long(), end.long())
        rows = self.ordered.shape[-1]
        whole = sums[:, :1, -1:] / max(rows, 1)
        mean = (total + whole) / ((end - first)[..., None] + 1)
        spread = self._deviation(labels)
        return (mean - whole) / spread

    def _deviation(self, labels: int) -> Float[Tensor, "table one one few"]:
        each = self.sums[:, :1, :, :labels].diff(dim=2)
        return each.std(2, keepdim=True, correction=0).clamp(min=1e-3)

    @staticmethod
    def _between(sums: Tensor, low: Tensor, high: Tensor) -> Tensor:
        """What running sums of labels come to between two places of each column."""
        tables, columns, places, labels = sums.shape
        start = torch.arange(tables * columns, device=low.device).view(tables, 1, columns) * places
        running = sums.reshape(-1, labels)
        between = running[(start + high).flatten()] - running[(start + low).flatten()]
        return between.view(*low.shape, labels)

    def _standing(self, values: Values, first: Tensor, last: Tensor) -> Tensor:
        """The number in deviations, its rank with waves of it, the share of equals, missing or not, category or not."""
        missing = values.isnan()
        told = ~missing & ~self._unseen(values)
        rank = torch.where(told, (first + last) / (2 * self.filled.clamp(min=1)[:, None]) - 0.5, 0.0)
        share = (last - first) / self.ordered.shape[-1]
        standing = compress(((values - self.center[:, None]) / self.spread[:, None]).float())
        turned = rank[..., None] * (torch.pi * torch.tensor(WAVES, device=rank.device))
        category = self.category[:, None].expand_as(missing)
        plain = torch.stack([standing.where(told, 0.0), rank, share, missing.float(), category.float()], -1)
        return torch.cat([plain, turned.sin(), turned.cos()], -1)

    def _said(self, missing: Tensor, first: Tensor, last: Tensor, own: KnownLabels | None) -> Tensor:
        """The mean label of similar rows at each distance, and how many they are (as a logarithm)."""
        places = self.sums.shape[2]
        whole = self.sums[:, :1, -1:] / max(places - 1, 1)
        filled = self.filled[:, None]
        begin = torch.where(missing, filled, 0.0)
        end = torch.where(missing, float(places - 1), filled)
        said = []
        for near in NEAR:
            reach = torch.where(self.category, 0.0, near * self.filled).floor()[:, None]
            low = torch.maximum(first - reach, begin).long()
            high = torch.minimum(last + reach, end).long()
            total = self._between(self.sums, low, high)
            count = (high - low).float()[..., None]
            if own is not None:
                total[:, : own.shape[1]] -= own[:, :, None]
                count[:, : own.shape[1]] -= 1
            said.append(torch.cat([(total + whole) / (count + 1), count.log1p() / SCALE], -1))
        return torch.stack(said, 3)

    def _equals(self, values: Values) -> tuple[Tensor, Tensor]:
        """Where the cells that equal each value begin and end in its sorted column; of a missing one, the missing."""
        sought = values.transpose(1, 2).nan_to_num(torch.inf).contiguous()
        first = torch.searchsorted(self.ordered, sought)
        last = torch.searchsorted(self.ordered, sought, right=True)
        return first.transpose(1, 2).float(), last.transpose(1, 2).float()


def compress(x: Tensor) -> Tensor:
    """Numbers as they are up to a few deviations, then as a logarithm: one absurd cell must not drown the rest."""
    beyond = (x.abs() - FAR).clamp(min=0)
    return x.clamp(-FAR, FAR) + x.sign() * beyond.log1p()
