"""Column statistics: features of a cell relative to its column, computed from the context rows (no weights).

A number alone says little. Its standardised value, its rank, the share of rows that are equal to it and the mean label
of rows with similar cells say much. Similar means the same value, or a value within a given range of ranks. Everything
comes from sorted columns and cumulative sums of labels, so it costs about as much as sorting.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.closed_form.copies import Copies

RADII = (0.0, 1 / 32, 1 / 8)  # fraction of a column on either side whose labels are averaged; 0: equal cells only
FREQUENCIES = (1.0, 2.0, 4.0)  # of the sine and cosine of the rank
CELL_FEATURES = 5 + 2 * len(FREQUENCIES)
LOG_SCALE = 8.0  # brings logarithms of counts near one
CONSTANT = 1e-12  # relative standard deviation below which a column counts as constant (rounding error)
LINEAR_RANGE = 3.0  # standard deviations beyond which numbers are compressed logarithmically

Values = Float[Tensor, "table row column"]
Labels = Float[Tensor, "table row label"]
ContextLabels = Float[Tensor, "table context label"]
CellFeatures = Float[Tensor, "table row column cell_feature"]


@dataclass(frozen=True)
class ColumnStatistics:
    """The columns of a table, fitted to its context rows."""

    mean: Float[Tensor, "table column"]
    std: Float[Tensor, "table column"]
    sorted: Float[Tensor, "table column row"]  # cells in ascending order, missing cells last
    present: Float[Tensor, "table column"]  # number of cells that are not missing
    label_sums: Float[Tensor, "table column row+1 label"]  # cumulative, in that order
    rank: Int[Tensor, "table row column"]  # of each context cell in that order; ties are broken at random, not copies
    category: Bool[Tensor, "table column"]

    @classmethod
    def fit(
        cls, values: Values, labels: Labels, category: Bool[Tensor, "table column"], copies: Copies | None = None
    ) -> "ColumnStatistics":
        columns = values.transpose(1, 2)
        known = ~columns.isnan()
        present = known.sum(-1).float()
        filled = columns.nan_to_num(0.0).double()  # float64: huge values must not overflow, tiny ones not vanish
        mean = filled.sum(-1) / present.clamp(min=1)
        centred = torch.where(known, filled - mean[..., None], 0.0)
        std = (centred.square().sum(-1) / present.clamp(min=1)).sqrt()
        std = torch.where(std > CONSTANT * mean.abs(), std, 1.0)
        shuffled = torch.randperm(values.shape[1], generator=torch.Generator().manual_seed(0)).to(values.device)
        ascending, order = columns.nan_to_num(torch.inf)[..., shuffled].sort(stable=True, dim=-1)
        order = shuffled[order]
        tables = torch.arange(len(values), device=values.device)[:, None, None]
        sums = labels[tables, order].cumsum(2)
        sums = torch.cat([torch.zeros_like(sums[:, :, :1]), sums], 2)
        rank = order.argsort(-1).transpose(1, 2)
        rank = rank if copies is None else copies.earliest(rank)
        return cls(mean, std, ascending, present, sums, rank, category)

    @property
    def numeric(self) -> Bool[Tensor, "table column"]:
        """Columns that enter a linear model as numbers: numeric ones, and binary categories, coded 0 and 1."""
        return ~self.category | (self.sorted.nan_to_num(posinf=0.0).amax(-1) <= 1)

    def _unseen(self, values: Values) -> Bool[Tensor, "table row column"]:
        """Categories that the context rows do not contain: their code must not be taken for a number."""
        return self.category[:, None] & (values > self.sorted.nan_to_num(posinf=-torch.inf).amax(-1)[:, None])

    def describe(
        self, values: Values, labels: ContextLabels | None = None, copies: Float[Tensor, " context"] | None = None
    ) -> tuple[CellFeatures, Float[Tensor, "table row column radius label_mean"]]:
        """The features of each cell, and the mean labels of the rows with similar cells.

        `labels` are those of the first rows if these are the context rows: their own label is left out of the means,
        as often as there are `copies` of the row.
        """
        first, last = self._equal_range(values)
        own = None
        if labels is not None:
            times = labels.new_ones(1) if copies is None else copies
            own = times[:, None] * labels, times[None, :, None, None]
        return self._cell_features(values, first, last), self._label_means(values.isnan(), first, last, own)

    def cell_features(self, values: Values) -> CellFeatures:
        return self._cell_features(values, *self._equal_range(values))

    def target_statistics(self, values: Values, context: int, labels: int) -> Float[Tensor, "table row column few"]:
        """Target encoding: the mean of the first few labels over the rows with the same cell, standardised.

        If the first `context` rows are the context rows, they get ordered target statistics: only rows that precede
        them count, because a mean over all other rows would reveal the row's own label (Prokhorenkova et al., 2018).
        """
        first, last = self._equal_range(values)
        end = torch.cat([self.rank[:, :context].float(), last[:, context:]], 1)
        sums = self.label_sums[..., :labels]
        total = self._sum_between(sums, first.long(), end.long())
        rows = self.sorted.shape[-1]
        overall = sums[:, :1, -1:] / max(rows, 1)
        mean = (total + overall) / ((end - first)[..., None] + 1)
        return (mean - overall) / self._label_std(labels)

    def _label_std(self, labels: int) -> Float[Tensor, "table one one few"]:
        each = self.label_sums[:, :1, :, :labels].diff(dim=2)
        return each.std(2, keepdim=True, correction=0).clamp(min=1e-3)

    @staticmethod
    def _sum_between(sums: Tensor, low: Tensor, high: Tensor) -> Tensor:
        """The sum of labels between two positions of each sorted column, from cumulative sums."""
        tables, columns, positions, labels = sums.shape
        start = torch.arange(tables * columns, device=low.device).view(tables, 1, columns) * positions
        cumulative = sums.reshape(-1, labels)
        between = cumulative[(start + high).flatten()] - cumulative[(start + low).flatten()]
        return between.view(*low.shape, labels)

    def _cell_features(self, values: Values, first: Tensor, last: Tensor) -> CellFeatures:
        """Standardised value, rank, share of equal cells, missing or not, category or not, sine and cosine of rank."""
        missing = values.isnan()
        known = ~missing & ~self._unseen(values)
        rank = torch.where(known, (first + last) / (2 * self.present.clamp(min=1)[:, None]) - 0.5, 0.0)
        equal = (last - first) / self.sorted.shape[-1]
        number = compress(((values - self.mean[:, None]) / self.std[:, None]).float())
        angle = rank[..., None] * (torch.pi * torch.tensor(FREQUENCIES, device=rank.device))
        category = self.category[:, None].expand_as(missing)
        plain = torch.stack([number.where(known, 0.0), rank, equal, missing.float(), category.float()], -1)
        return torch.cat([plain, angle.sin(), angle.cos()], -1)

    def _label_means(
        self, missing: Tensor, first: Tensor, last: Tensor, own: tuple[ContextLabels, Tensor] | None
    ) -> Tensor:
        """The mean label of the rows with similar cells at each radius, and the logarithm of their number.

        `own` are the labels and the number of the rows that each of the first rows leaves out: itself and its copies.
        """
        positions = self.label_sums.shape[2]
        overall = self.label_sums[:, :1, -1:] / max(positions - 1, 1)
        present = self.present[:, None]
        begin = torch.where(missing, present, 0.0)
        end = torch.where(missing, float(positions - 1), present)
        means = []
        for radius in RADII:
            reach = torch.where(self.category, 0.0, radius * self.present).floor()[:, None]
            low = torch.maximum(first - reach, begin).long()
            high = torch.minimum(last + reach, end).long()
            total = self._sum_between(self.label_sums, low, high)
            count = (high - low).float()[..., None]
            if own is not None:
                labels, times = own
                total[:, : labels.shape[1]] -= labels[:, :, None]
                count[:, : labels.shape[1]] -= times
            means.append(torch.cat([(total + overall) / (count + 1), count.log1p() / LOG_SCALE], -1))
        return torch.stack(means, 3)

    def _equal_range(self, values: Values) -> tuple[Tensor, Tensor]:
        """Where the cells equal to each value begin and end in its sorted column; missing cells equal each other."""
        sought = values.transpose(1, 2).nan_to_num(torch.inf).contiguous()
        first = torch.searchsorted(self.sorted, sought)
        last = torch.searchsorted(self.sorted, sought, right=True)
        return first.transpose(1, 2).float(), last.transpose(1, 2).float()


def compress(x: Tensor) -> Tensor:
    """Linear up to a few standard deviations, then logarithmic, so that one outlier does not dominate."""
    beyond = (x.abs() - LINEAR_RANGE).clamp(min=0)
    return x.clamp(-LINEAR_RANGE, LINEAR_RANGE) + x.sign() * beyond.log1p()
