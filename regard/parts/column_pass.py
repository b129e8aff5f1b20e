"""Column pass: the cells of a column look at each other across the rows, through a few learned points.

The points attend to the cells of the context rows, which carry the labels of their rows, and every cell attends to the
points (induced set attention, Lee et al., 2019), so the cost grows with the rows and not with their square. It starts
as the identity: weights that were trained without it predict the same before they are trained on.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.core.config import Config
from regard.core.errors import at_least
from regard.core.modules import RepeatedBlock
from regard.parts.attention import Full, ScalableSoftmax
from regard.parts.linear import Linear
from regard.parts.multihead import MultiHead
from regard.parts.norms import Norm

Cells = Float[Tensor, "table row column cell"]
Points = Float[Tensor, "table_column point cell"]


@dataclass(frozen=True)
class ColumnPass(Config):
    points: int = 16

    def __post_init__(self) -> None:
        at_least(1, points=self.points)

    def build(self, width: int, heads: int, label_width: int, norm: Norm) -> "ColumnPassBlock":
        return ColumnPassBlock(self, width, heads, label_width, norm)


class ColumnPassBlock(RepeatedBlock):
    def __init__(self, config: ColumnPass, width: int, heads: int, label_width: int, norm: Norm):
        super().__init__()
        self.points = nn.Parameter(torch.randn(config.points, width))
        self.label = Linear(label_width, width)
        self.norm = norm.build(width)
        self.gather = MultiHead(width, heads, Full(scale=ScalableSoftmax()))
        self.spread = MultiHead(width, heads)

    def start_as_identity(self) -> None:
        nn.init.zeros_(self.spread.out.weight)
        nn.init.zeros_(self.spread.out.bias)

    def summarise(self, context: Cells, labels: Float[Tensor, "table row label"]) -> Points:
        """What the points found in each column of the context rows."""
        cells = self.norm(context) + self.label(labels)[:, :, None]
        columns = cells.transpose(1, 2).flatten(0, 1)
        summary: Points = self.gather(self.points.expand(len(columns), -1, -1), columns)
        return summary

    def forward(self, cells: Cells, points: Points) -> Cells:
        columns = self.norm(cells).transpose(1, 2)
        seen = self.spread(columns.flatten(0, 1), points).view(columns.shape)
        return cells + seen.transpose(1, 2)
