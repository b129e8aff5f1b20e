"""Relative positions: a query meets each key with a vector for the distance between them (Shaw et al., 2018).

One table serves all heads and layers. Values carry no position: the paper's own ablation found that to add nothing.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.core.errors import at_least, at_most
from regard.core.sizes import MAX_LENGTH
from regard.parts.attention.base import Bias
from regard.parts.masks import Index
from regard.parts.positions.base import PositionConfig, PositionEncoding, Positions


@dataclass(frozen=True)
class Shaw(PositionConfig):
    reach: int = 16  # distances beyond it count as it
    relates = True

    def __post_init__(self) -> None:
        at_least(0, reach=self.reach)
        at_most(MAX_LENGTH, reach=self.reach)

    def build(self, width: int, heads: int, head_size: int, causal: bool) -> "ShawEncoding":
        return ShawEncoding(self.reach, head_size)


class ShawEncoding(PositionEncoding):
    def __init__(self, reach: int, size: int):
        super().__init__()
        self.reach = reach
        self.table = nn.Parameter(torch.randn(2 * reach + 1, size) * size**-0.5)

    def bias(self, positions: Positions) -> Bias:
        return ShawBias(self.table, self.reach)


class ShawBias:
    """The query's match with the vector of a clipped distance, scaled as scores usually are, by the size of a head."""

    def __init__(self, table: Float[Tensor, "distances size"], reach: int):
        self.table, self.reach = table, reach

    def distance(self, query: Index, key: Index) -> Tensor:
        return (key - query)[None]

    def at(self, q: Float[Tensor, "batch heads *query size"], query: Index, key: Index) -> Tensor:
        clipped = self.distance(query, key).clamp(-self.reach, self.reach) + self.reach
        matches: Tensor = q @ self.table.T * q.shape[-1] ** -0.5  # each query with every distance, then picked by key
        chosen = clipped[:, None].expand(*matches.shape[:2], *clipped.shape[1:])
        return matches.gather(-1, chosen)
