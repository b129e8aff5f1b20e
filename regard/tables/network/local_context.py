"""Local context of a large table: clusters of similar rows, so that each query row attends to the rows nearest to it.

Similarity is that of the network's row embeddings, which contain what each cell says about the target, so irrelevant
columns hardly count.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

ROUNDS = 6  # of k-means
MAX_CLUSTERS = 8  # each needs a forward pass over its context


@dataclass(frozen=True)
class Clusters:
    centers: Float[Tensor, "cluster width"]
    rows: Int[Tensor, "cluster near"]  # the rows nearest to each center

    def assign(self, states: Float[Tensor, "row width"]) -> Int[Tensor, " row"]:
        """The cluster of each row; distances are exact, so that a row's cluster does not depend on the other rows."""
        exact = "donot_use_mm_for_euclid_dist"
        return torch.cat([torch.cdist(part, self.centers, compute_mode=exact).argmin(1) for part in states.split(4096)])


def find_clusters(states: Float[Tensor, "row width"], near: int, seed: int) -> Clusters:
    """Clusters by k-means, each with its `near` nearest rows.

    There are twice as many as would partition the rows, so that they overlap, but at most `MAX_CLUSTERS`.
    """
    count = max(2, min(MAX_CLUSTERS, 2 * len(states) // near))
    centers = states[torch.randperm(len(states), generator=torch.Generator().manual_seed(seed))[:count]]
    for _ in range(ROUNDS):
        cluster = torch.cdist(states, centers).argmin(1)
        sizes = torch.bincount(cluster, minlength=count).clamp(min=1)
        moved = torch.zeros_like(centers).index_add_(0, cluster, states) / sizes[:, None]
        centers = torch.where((torch.bincount(cluster, minlength=count) > 0)[:, None], moved, centers)
    near = min(near, len(states))
    nearest = [torch.cdist(center[None], states)[0].topk(near, largest=False).indices for center in centers]
    return Clusters(centers, torch.stack(nearest).sort(1).values)
