"""Axial attention: along one axis of a two-dimensional input (Ho et al., 2019), with a bias from a table of pairs.

Each row of the input, or each column, is a text of its own for the common operator. What two positions of a row are to
each other may be known from a table of pairs, which adds a term to their score (Jumper et al., 2021).
"""

from collections.abc import Callable
from typing import Literal

from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.parts.linear import Linear
from regard.parts.masks import Index, Padding
from regard.parts.multihead import MultiHead

Grid = Float[Tensor, "batch row column width"]
Axis = Literal["row", "column"]


class PairBias:
    """Scores of a table of pairs, as a bias."""

    def __init__(self, scores: Float[Tensor, "batch heads length length"]):
        self.scores = scores

    def at(self, q: Float[Tensor, "batch heads *query size"], query: Index, key: Index) -> Float[Tensor, "..."]:
        length = self.scores.shape[-1]
        if query.shape == (length, 1) and key.shape == (1, length):  # every pair, in order
            return self.scores
        return self.scores[:, :, query, key]


class AxialAttention(nn.Module):
    """Along `row`, the positions of each row attend to each other; along `column`, those of each column.

    With a `pair_width`, a table of pairs of these positions adds a term to each score, the same for every line.
    """

    __call__: Callable[..., Tensor]

    def __init__(self, attend: MultiHead, axis: Axis = "row", pair_width: int | None = None):
        super().__init__()
        self.axis, self.attend = axis, attend
        heads = attend.query.out_features // attend.head_size
        self.bias = None if pair_width is None else Linear(pair_width, heads, bias=False)

    def forward(
        self,
        x: Grid,
        valid: Bool[Tensor, "batch position"] | None = None,
        pair: Float[Tensor, "batch position position pair"] | None = None,
    ) -> Grid:
        if self.axis == "column":
            x = x.transpose(1, 2)
        batch, lines = x.shape[:2]
        mask = None if valid is None else Padding(valid.repeat_interleave(lines, 0))
        bias = None
        if self.bias is not None and pair is not None:
            scores: Tensor = self.bias(pair).permute(0, 3, 1, 2)
            bias = PairBias(scores if batch == 1 else scores.repeat_interleave(lines, 0))
        attended: Tensor = self.attend(x.flatten(0, 1), mask=mask, bias=bias).unflatten(0, (batch, lines))
        return attended.transpose(1, 2) if self.axis == "column" else attended
