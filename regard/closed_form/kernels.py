"""Kernels: how alike two rows are, by the distance between them.

A rough one for steps and thresholds and a smooth one for curves. Of a target that is nearly without noise, the one that
suits it predicts with a fraction of the other's error.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import torch
from jaxtyping import Float
from torch import Tensor

Rows = Float[Tensor, "table row feature"]
Others = Float[Tensor, "table other feature"]
Pairs = Float[Tensor, "table row other"]


@dataclass(frozen=True)
class Laplace:
    """One for equal rows, falling off exponentially with the L1 distance."""

    def distances(self, rows: Rows, others: Others) -> Pairs:
        return torch.cdist(rows, others, p=1)

    def matrix(self, rows: Rows, others: Others) -> Pairs:
        return self.distances(rows, others).neg().exp()


@dataclass(frozen=True)
class Matern:
    """Matérn's kernel of smoothness 3/2, of the Euclidean distance: its functions have a derivative."""

    def distances(self, rows: Rows, others: Others) -> Pairs:
        if torch.compiler.is_exporting():  # ONNX has operators for this
            return torch.linalg.vector_norm(rows[:, :, None] - others[:, None], dim=-1)
        # By differences, not by a product of matrices: exact for near rows, and the same whatever rows are beside.
        return torch.cdist(rows, others, compute_mode="donot_use_mm_for_euclid_dist")

    def matrix(self, rows: Rows, others: Others) -> Pairs:
        distances = sqrt(3) * self.distances(rows, others)
        return (1 + distances) * distances.neg().exp()


Kernel = Laplace | Matern
KERNELS: Sequence[Kernel] = (Laplace(), Matern())


def distances(kernels: Sequence[Kernel], rows: Rows, others: Others) -> Pairs:
    """Each table by its own kernel."""
    return torch.cat([each.distances(*tables) for each, *tables in _by_kernel(kernels, rows, others)])


def kernel_matrix(kernels: Sequence[Kernel], rows: Rows, others: Others) -> Pairs:
    """Each table by its own kernel."""
    return torch.cat([each.matrix(*tables) for each, *tables in _by_kernel(kernels, rows, others)])


def _by_kernel(kernels: Sequence[Kernel], rows: Rows, others: Others) -> list[tuple[Kernel, Tensor, Tensor]]:
    if len(set(kernels)) == 1:  # all tables together
        return [(kernels[0], rows, others)]
    return list(zip(kernels, rows.split(1), others.split(1), strict=True))
