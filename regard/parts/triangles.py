"""Triangle multiplication and attention: what two sides of a triangle say of the third (Jumper et al., 2021).

If i is near k and j is near k, then i and j are not far apart. Each pair (i, j) collects over all k the products of the
two other sides: the edges that leave i and j (outgoing) or that arrive there (incoming).
"""

from collections.abc import Callable
from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.parts.axial import AxialAttention
from regard.parts.linear import Linear
from regard.parts.multihead import MultiHead
from regard.parts.norms import Norm

Pairs = Float[Tensor, "batch residue residue width"]
Edges = Literal["outgoing", "incoming"]


class TriangleMultiplication(nn.Module):
    __call__: Callable[..., Tensor]

    def __init__(self, width: int, hidden: int, norm: Norm, edges: Edges):
        super().__init__()
        self.edges = edges
        self.sides = Linear(width, 4 * hidden)  # two sides and their gates
        self.gate = Linear(width, width)
        self.norm = norm.build(hidden)
        self.out = Linear(hidden, width)

    def forward(self, pair: Pairs, valid: Bool[Tensor, "batch residue"] | None = None) -> Pairs:
        sides, gates = self.sides(pair).chunk(2, -1)
        sides = sides * gates.sigmoid()
        if valid is not None:
            sides = sides * (valid[:, :, None] & valid[:, None, :])[..., None]
        left, right = sides.permute(0, 3, 1, 2).chunk(2, 1)
        product = left @ right.mT if self.edges == "outgoing" else left.mT @ right
        third = self.norm(product.permute(0, 2, 3, 1))
        return torch.sigmoid(self.gate(pair)) * self.out(third)


class TriangleAttention(nn.Module):
    """Each edge attends to the edges that share its first residue (starting) or its second (ending).

    The third side of the triangle adds a term to the score.
    """

    __call__: Callable[..., Tensor]

    def __init__(self, attend: MultiHead, width: int, node: Literal["starting", "ending"]):
        super().__init__()
        self.node = node
        self.axial = AxialAttention(attend, "row", width)

    def forward(self, pair: Pairs, valid: Bool[Tensor, "batch residue"] | None = None) -> Pairs:
        if self.node == "starting":
            return self.axial(pair, valid, pair)
        turned = pair.transpose(1, 2)
        return self.axial(turned, valid, turned).transpose(1, 2)
