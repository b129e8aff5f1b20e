"""Column pass: every cell learns which labels the context rows have whose cells in its column are in a similar state.

A softmax assigns the state of each cell to a few bins, and a cell reads the mean label of its bins: attention between
the rows of a column in linear time. Statistics of raw values do the same before any attention; after a first layer
between the cells of a row, a state knows of other columns too, so the labels of combinations can be read. A context row
does not see its own label, nor those of its copies. The pass starts as the identity: weights trained without it predict
the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from regard.core.config import Config
from regard.core.errors import at_least
from regard.core.modules import RepeatedBlock
from regard.parts.linear import Linear

ASSIGNMENT_GAIN = 2.0  # of the first assignment to bins, which must tell states apart
GAIN = 10.0  # of what is read: about the size of the states of cells in trained weights
MIN_STD = 1e-3  # of a state and of a label

Cells = Float[Tensor, "table row place cell"]  # a place: a column, or a summary token of the row
RowLabels = Float[Tensor, "table context label"]  # embedded
RowCopies = Float[Tensor, "table context"]  # how many rows are copies of each, itself among them
Assignment = Float[Tensor, "table place head row bin"]


@dataclass(frozen=True)
class ColumnBins:
    """What the context rows say: how the states of a column are scaled, and the labels in each bin."""

    center: Float[Tensor, "table one place cell"]
    scale: Float[Tensor, "table one place cell"]
    label_mean: Float[Tensor, "table one one one label"]
    label_scale: Float[Tensor, "table one one one one"]
    sums: Float[Tensor, "table place head bin label"]
    counts: Float[Tensor, "table place head one bin"]

    @classmethod
    def stack(cls, bins: Sequence["ColumnBins"]) -> "ColumnBins":
        """Those of several tables."""
        return cls(*(torch.cat([getattr(each, field.name) for each in bins]) for field in fields(cls)))

    def tables(self, some: slice) -> "ColumnBins":
        return type(self)(*(getattr(self, field.name)[some] for field in fields(self)))


@dataclass(frozen=True)
class ColumnPass(Config):
    bins: int = 16
    heads: int = 2

    def __post_init__(self) -> None:
        at_least(1, heads=self.heads)
        at_least(2, bins=self.bins)

    def build(self, width: int, label_width: int) -> "ColumnPassBlock":
        return ColumnPassBlock(self, width, label_width)


class ColumnPassBlock(RepeatedBlock):
    def __init__(self, config: ColumnPass, width: int, label_width: int):
        super().__init__()
        self.heads = config.heads
        self.assign = Linear(width, config.heads * config.bins)
        self.out = Linear(config.heads * label_width, width)

    @torch.no_grad()
    def start_as_identity(self) -> None:
        self.assign.weight.mul_(ASSIGNMENT_GAIN)
        nn.init.zeros_(self.out.weight)

    def forward(
        self,
        cells: Cells,
        labels: RowLabels | None = None,
        fitted: ColumnBins | None = None,
        copies: RowCopies | None = None,
    ) -> tuple[Cells, ColumnBins]:
        """The cells after the pass, and the bins, which are fitted to the first rows unless they are given.

        `labels` and `copies` are those of the first rows.
        """
        if fitted is None:
            assert labels is not None, "bins need labels"
            fitted = self._fit(cells[:, : labels.shape[1]], labels)
        bins = self._assign(cells, fitted.center, fitted.scale)
        return cells + self.out(_read(bins, fitted, labels, copies)), fitted

    def _fit(self, cells: Cells, labels: RowLabels) -> ColumnBins:
        std, center = torch.std_mean(cells, 1, correction=0, keepdim=True)
        scale = std + MIN_STD
        bins = self._assign(cells, center, scale)
        label_std, label_mean = torch.std_mean(labels, 1, correction=0)
        label_scale = label_std.square().mean(-1).sqrt() + MIN_STD
        return ColumnBins(
            center,
            scale,
            label_mean[:, None, None, None],
            label_scale[:, None, None, None, None],
            bins.transpose(-1, -2) @ labels[:, None, None],
            bins.sum(-2, keepdim=True),
        )

    def _assign(self, cells: Cells, center: Tensor, scale: Tensor) -> Assignment:
        """To which bins a state belongs, by how it differs from the others of its column."""
        scores: Tensor = self.assign((cells - center) / scale).unflatten(-1, (self.heads, -1))
        return scores.softmax(-1).permute(0, 2, 3, 1, 4)


def _read(
    bins: Assignment, fitted: ColumnBins, labels: RowLabels | None, copies: RowCopies | None = None
) -> Float[Tensor, "table row place read"]:
    """By how much the mean label of a cell's bins, without its own row and its copies, differs from that of the table.

    Each bin has one more row, whose label is the mean.
    """
    rows, own = bins.shape[-2], 0 if labels is None else labels.shape[1]
    known = (torch.arange(rows, device=bins.device) < own).float()[:, None]
    if labels is not None and copies is not None:
        known = F.pad(copies, (0, rows - own))[:, None, None, :, None]
        labels = labels * copies[..., None]
    weight = bins / (fitted.counts - known * bins + 1)
    read = weight @ fitted.sums + weight.sum(-1, keepdim=True) * fitted.label_mean - fitted.label_mean
    if labels is not None:
        own_label = torch.cat([labels, labels.new_zeros(len(labels), rows - own, labels.shape[2])], 1)
        read = read - (weight * bins).sum(-1, keepdim=True) * own_label[:, None, None]
    return (GAIN * read / fitted.label_scale).permute(0, 3, 1, 2, 4).flatten(3)
