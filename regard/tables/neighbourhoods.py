"""Neighbourhoods of a large table: groups of rows that the network sees as similar, so that each asked row is answered
from the rows that concern it.

Similar is what the network makes of the cells of a row, which already holds what each cell says about the target; so
columns that do not matter hardly count.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

ROUNDS = 6  # of moving the middles
MOST_PLACES = 8  # as the rows of each have to be read


@dataclass(frozen=True)
class Neighbourhoods:
    middles: Float[Tensor, "place width"]
    rows: Int[Tensor, "place near"]  # the rows nearest to each middle

    def of(self, states: Float[Tensor, "row width"]) -> Int[Tensor, " row"]:
        """The neighbourhood that each row lies in; by exact distances, for a row must not move with its company."""
        exact = "donot_use_mm_for_euclid_dist"
        return torch.cat([torch.cdist(part, self.middles, compute_mode=exact).argmin(1) for part in states.split(4096)])


def find_neighbourhoods(states: Float[Tensor, "row width"], near: int, seed: int) -> Neighbourhoods:
    """Middles by k-means, one for about half as many rows as are `near`, so that neighbourhoods overlap; but no more
    than `MOST_PLACES`, so that in a large table they lie apart."""
    count = max(2, min(MOST_PLACES, 2 * len(states) // near))
    middles = states[torch.randperm(len(states), generator=torch.Generator().manual_seed(seed))[:count]]
    for _ in range(ROUNDS):
        place = torch.cdist(states, middles).argmin(1)
        sizes = torch.bincount(place, minlength=count).clamp(min=1)
        moved = torch.zeros_like(middles).index_add_(0, place, states) / sizes[:, None]
        middles = torch.where((torch.bincount(place, minlength=count) > 0)[:, None], moved, middles)
    near = min(near, len(states))
    nearest = [torch.cdist(middle[None], states)[0].topk(near, largest=False).indices for middle in middles]
    return Neighbourhoods(middles, torch.stack(nearest).sort(1).values)
