"""Column pass: every cell learns which labels the context rows have whose cells in its column are in a similar state.

A softmax assigns the state of each cell to a few bins, and a cell reads the mean label of its bins: attention between
the rows of a column in linear time. Statistics of raw values do the same before any attention; after a first layer
between the cells of a row, a state knows of other columns too, so the labels of combinations can be read. A context row
does not see its own label. The pass starts as the identity: weights trained without it predict the same.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.core.config import Config
from regard.core.errors import at_least
from regard.core.modules import RepeatedBlock
from regard.parts.linear import Linear
from regard.parts.norms import Norm

SHARPNESS = 3.0  # of the first assignment to bins

Cells = Float[Tensor, "table row place cell"]  # a place: a column, or a summary token of the row
RowLabels = Float[Tensor, "table context label"]  # embedded
BinSums = Float[Tensor, "table place head bin sum"]  # of the labels of context rows, and their number
Assignment = Float[Tensor, "table place head row bin"]


@dataclass(frozen=True)
class ColumnPass(Config):
    bins: int = 16
    heads: int = 2

    def __post_init__(self) -> None:
        at_least(1, heads=self.heads)
        at_least(2, bins=self.bins)

    def build(self, width: int, label_width: int, norm: Norm) -> "ColumnPassBlock":
        return ColumnPassBlock(self, width, label_width, norm)


class ColumnPassBlock(RepeatedBlock):
    def __init__(self, config: ColumnPass, width: int, label_width: int, norm: Norm):
        super().__init__()
        self.heads = config.heads
        self.norm = norm.build(width)
        self.assign = Linear(width, config.heads * config.bins)
        self.out = Linear(config.heads * label_width, width)

    @torch.no_grad()
    def start_as_identity(self) -> None:
        self.assign.weight.mul_(SHARPNESS)
        nn.init.zeros_(self.out.weight)

    def forward(
        self, cells: Cells, labels: RowLabels | None = None, sums: BinSums | None = None
    ) -> tuple[Cells, BinSums]:
        """The cells after the pass, and the sums of the bins.

        `labels` are those of the first rows, to which the sums are fitted unless they are given.
        """
        bins = self._bins(cells)
        if sums is None:
            assert labels is not None, "bins need labels to be summed"
            counted = torch.cat([labels, torch.ones_like(labels[..., :1])], -1)
            sums = bins[..., : labels.shape[1], :].transpose(-1, -2) @ counted[:, None, None]
        return cells + self.out(self._read(bins, sums, labels)), sums

    def _bins(self, cells: Cells) -> Assignment:
        scores = self.assign(self.norm(cells)).unflatten(-1, (self.heads, -1))
        return scores.softmax(-1).permute(0, 2, 3, 1, 4)

    def _read(self, bins: Assignment, sums: BinSums, labels: RowLabels | None) -> Float[Tensor, "table row place read"]:
        """The mean label of a cell's bins without its own row, where one more row has the label of the whole table."""
        total, count = sums[..., :-1], sums[..., -1][..., None, :]
        overall = total.sum(-2, keepdim=True) / count.sum(-1, keepdim=True)
        own = torch.zeros_like(bins[..., :1])
        if labels is not None:
            own[..., : labels.shape[1], :] = 1.0
        weight = bins / (count - own * bins + 1)
        read = weight @ total + weight.sum(-1, keepdim=True) * overall
        if labels is not None:
            kept = labels.shape[1]
            hidden = (weight * bins)[..., :kept, :].sum(-1, keepdim=True) * labels[:, None, None]
            read = torch.cat([read[..., :kept, :] - hidden, read[..., kept:, :]], -2)
        return read.permute(0, 3, 1, 2, 4).flatten(3)
