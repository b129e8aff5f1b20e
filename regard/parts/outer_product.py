"""Outer-product mean: what two columns of an alignment have in common becomes a pair (Jumper et al., 2021)."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.parts.linear import Linear


class OuterProductMean(nn.Module):
    """Each pair of columns gets the mean over rows of the outer product of two short projections of their cells."""

    __call__: Callable[..., Tensor]

    def __init__(self, width: int, pair_width: int, hidden: int):
        super().__init__()
        self.left = Linear(width, hidden, bias=False)
        self.right = Linear(width, hidden, bias=False)
        self.out = Linear(hidden * hidden, pair_width)

    def forward(self, x: Float[Tensor, "batch row column width"]) -> Float[Tensor, "batch column column pair"]:
        product = torch.einsum("bsic,bsjd->bijcd", self.left(x), self.right(x)) / x.shape[1]
        return self.out(product.flatten(3))
