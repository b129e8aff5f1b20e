"""Kernel ridge regression for many rows, by the Nyström approximation (Williams & Seeger, 2001).

The kernel is expanded over a subsample of the context rows, the landmarks, with coefficients fitted to all of them.
That takes the rows times the square of the landmarks instead of the cube of the rows, and the leave-one-out
predictions still have a closed form.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from regard.closed_form.copies import Copies
from regard.closed_form.kernel_ridge import (
    Counts,
    KernelRidge,
    for_all,
    laplace_kernel,
    normalised,
    once,
    select_kernel,
    subsample,
)
from regard.closed_form.ridge import MIN_RESIDUAL, Features, Targets, cholesky

LANDMARKS = 2048
JITTER = 1e-3  # added to the diagonal of the landmark kernel, as landmarks may be equal


@dataclass(frozen=True)
class NystromKernelRidge(KernelRidge):
    """`support` are the landmarks."""

    context: Float[Tensor, "table distinct active"]  # all context rows, scaled, each of their copies once

    @classmethod
    def fit(cls, features: Features, labels: Targets, copies: Copies | None = None) -> "NystromKernelRidge":
        intercept = labels.mean(1, keepdim=True)
        features, y, counts = once(features, labels - intercept, copies)
        counts = features.new_ones(1, features.shape[1]) if counts is None else counts
        with torch.autocast(features.device.type, enabled=False):
            active, scale, penalty = select_kernel(features, y, counts)
            context = features[..., active] * scale
            landmarks = subsample(LANDMARKS, context)
            mapped, root = _feature_map(context, landmarks)
            inner = cholesky(_gram(mapped, penalty, counts))
            coef = torch.cholesky_solve(mapped * counts[:, None] @ y, inner)
            leverage = torch.linalg.solve_triangular(inner, mapped, upper=False).square().sum(1)
            residual = y - mapped.transpose(1, 2) @ coef
            leave_one_out = y - residual / (1 - counts * leverage).clamp(min=MIN_RESIDUAL)[..., None]
            dual_coef = torch.linalg.solve_triangular(root.transpose(1, 2), coef, upper=True)
        leave_one_out = for_all(leave_one_out, copies) + intercept
        return cls(active, scale, landmarks, penalty, dual_coef, intercept, leave_one_out, context, copies=copies)

    def label_weights(self, features: Features) -> Float[Tensor, "table row context"]:
        mapped, root = _feature_map(self.context, self.support)
        counts = mapped.new_ones(1, mapped.shape[2]) if self.copies is None else self.copies.counts[None]
        gram = _gram(mapped, self.penalty, counts)
        kernel = laplace_kernel(features[..., self.active] * self.scale, self.support)
        query = torch.linalg.solve_triangular(root, kernel.transpose(1, 2), upper=False)
        weights = torch.cholesky_solve(query, cholesky(gram)).transpose(1, 2) @ mapped
        return normalised(for_all(weights.transpose(1, 2), self.copies).transpose(1, 2))


def _gram(
    mapped: Float[Tensor, "table landmark context"], penalty: Float[Tensor, "table one one"], counts: Counts
) -> Float[Tensor, "table landmark landmark"]:
    one = torch.eye(mapped.shape[1], device=mapped.device)
    return (mapped * counts[:, None]) @ mapped.transpose(1, 2) + penalty * one


def _feature_map(
    context: Float[Tensor, "table context active"], landmarks: Float[Tensor, "table landmark active"]
) -> tuple[Float[Tensor, "table landmark context"], Tensor]:
    """Context rows in coordinates whose inner products are the approximate kernel, and the root that maps to them."""
    jitter = JITTER * torch.eye(landmarks.shape[1], device=landmarks.device)
    root = cholesky(laplace_kernel(landmarks, landmarks) + jitter)
    return torch.linalg.solve_triangular(root, laplace_kernel(landmarks, context), upper=False), root
