"""Categories as numbers for trees: the mean target of each level, shrunk to the mean of all (Micci-Barreca, 2001).

A tree splits levels in the order of these means, which is the best order for a number and for two classes (Fisher,
1958). With more classes, the target is whether a row has the most frequent one.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.core.machine import seed_for
from regard.tables.encode.table import EncodedTable

PRIOR_ROWS = 10  # of the mean of all, beside the rows of a level
FOLDS = 5
FREQUENT = 100  # rows of a level, among which one target hardly counts


@dataclass(frozen=True)
class LevelMeans:
    category: Bool[Tensor, " column"]
    first: Int[Tensor, " category"]  # where the levels of each categorical column begin in `means`
    means: Float[Tensor, " level"]

    @classmethod
    def fit(cls, table: EncodedTable) -> "LevelMeans":
        codes = table.values[:, table.category]
        counts = codes.nan_to_num(-1.0).amax(0).long() + 1 if codes.shape[1] else torch.zeros(0, dtype=torch.long)
        first = torch.cat([torch.zeros(1, dtype=torch.long), counts.cumsum(0)])
        return cls(table.category, first, _means(codes, first, _target(table)))

    def encode(self, values: Float[Tensor, "row column"]) -> Float[Tensor, "row column"]:
        """The cells with a mean in place of each code; NaN for missing and for unseen levels."""
        cells = values.double()
        if self.category.any():
            cells[:, self.category] = _look_up(values[:, self.category], self.first, self.means)
        return cells

    def cross_fit(self, table: EncodedTable, seed: int) -> Float[Tensor, "row column"]:
        """The training rows, where a level is rare with means of other folds: its own target would be given away.

        A frequent level has the mean of all its rows. Its means of folds would differ by little, but that little is the
        targets that they leave out, and trees find it. Copies are in one fold, and count once for what is frequent.
        """
        cells = self.encode(table.values)
        if not self.category.any():
            return cells
        codes, target = table.values[:, table.category], _target(table)
        level, _ = _levels(codes, self.first)
        copies = table.copies()
        distinct = level if copies is None else level[copies.first]
        frequent = torch.bincount(distinct.flatten(), minlength=len(self.means) + 1)[:-1] >= FREQUENT
        generator = torch.Generator().manual_seed(seed_for("level means", seed))
        fold = torch.randint(0, FOLDS, (len(distinct),), generator=generator)
        fold = fold if copies is None else fold[copies.group]
        for number in range(FOLDS):
            rest, chosen = (fold != number), (fold == number).nonzero()[:, 0]
            means = torch.where(frequent, self.means, _means(codes[rest], self.first, target[rest]))
            encoded = cells[chosen]
            encoded[:, self.category] = _look_up(codes[chosen], self.first, means)
            cells[chosen] = encoded
        return cells


def _target(table: EncodedTable) -> Float[Tensor, " row"]:
    if not table.classes:
        return table.target.double()
    sought = 1 if table.classes == 2 else int(torch.bincount(table.target.long()).argmax())
    return (table.target == sought).double()


def _means(codes: Float[Tensor, "row category"], first: Tensor, target: Float[Tensor, " row"]) -> Tensor:
    """The mean of each level; NaN for a level that these rows do not have."""
    level, known = _levels(codes, first)
    sums, counts = (torch.zeros(int(first[-1]) + 1, dtype=torch.double) for _ in range(2))
    sums.index_add_(0, level.flatten(), torch.where(known, target[:, None], 0.0).flatten())
    counts.index_add_(0, level.flatten(), known.double().flatten())
    means = (sums + PRIOR_ROWS * target.mean()) / (counts + PRIOR_ROWS)
    return means.where(counts > 0, torch.nan)[:-1]


def _look_up(codes: Float[Tensor, "row category"], first: Tensor, means: Float[Tensor, " level"]) -> Tensor:
    level, _ = _levels(codes, first)
    return torch.cat([means, means.new_tensor([torch.nan])])[level]


def _levels(codes: Float[Tensor, "row category"], first: Tensor) -> tuple[Tensor, Tensor]:
    """The index of each code among all levels, the last for missing and unseen ones; and which ones are known."""
    counts = first[1:] - first[:-1]
    known = (codes >= 0) & (codes < counts)
    return torch.where(known, codes.nan_to_num(0.0).long() + first[:-1], first[-1]), known
