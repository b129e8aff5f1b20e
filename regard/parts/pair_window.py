"""Pair window: a depthwise convolution over a table of pairs, which sees helices and strands as its stripes.

In a contact map, two strands side by side are a diagonal stripe and helices are dots at every fourth residue.
Convolutions over maps of couplings find such patterns (Wang et al., 2017).
"""

from collections.abc import Callable

from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.parts.linear import Linear

Pairs = Float[Tensor, "batch residue residue width"]


class PairWindow(nn.Module):
    """Each channel is convolved by itself, `size` pairs wide, and then the channels are mixed."""

    __call__: Callable[..., Tensor]

    def __init__(self, width: int, size: int):
        super().__init__()
        self.neighbours = nn.Conv2d(width, width, size, padding=size // 2, groups=width)
        self.out = Linear(width, width)

    def forward(self, pair: Pairs, valid: Bool[Tensor, "batch residue"] | None = None) -> Pairs:
        if valid is not None:
            pair = pair * (valid[:, :, None] & valid[:, None, :])[..., None]
        return self.out(nn.functional.gelu(self.neighbours(pair.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)))
