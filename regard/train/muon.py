"""Muon: momentum whose singular values are made about equal before it is applied (Jordan et al., 2024).

As `torch.optim.Muon` computes it, but for all matrices of a shape at once, and in bfloat16 only where the processor is
fast at it: elsewhere the many small products in bfloat16 took longer than the rest of a training step.
"""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.core.machine import has_fast_bfloat16

COEFFICIENTS = (3.4445, -4.7750, 2.0315)  # of a quintic that takes singular values from near 0 close to 1
ITERATIONS = 5
EPS = 1e-7

Matrices = Float[Tensor, "matrix row column"]


class MuonOptimiser(torch.optim.Optimizer):
    def __init__(self, matrices: Iterable[nn.Parameter], lr: float, weight_decay: float, momentum: float):
        super().__init__(matrices, {"lr": lr, "weight_decay": weight_decay, "momentum": momentum})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        loss = None if closure is None else closure()
        for group in self.param_groups:
            by_shape: dict[Any, list[nn.Parameter]] = {}
            for matrix in group["params"]:
                if matrix.grad is not None:
                    by_shape.setdefault((matrix.shape, matrix.device), []).append(matrix)
            for matrices in by_shape.values():
                self._update(matrices, group["lr"], group["weight_decay"], group["momentum"])
        return loss

    def _update(self, matrices: list[nn.Parameter], lr: float, weight_decay: float, momentum: float) -> None:
        gradients = [matrix.grad for matrix in matrices if matrix.grad is not None]
        buffers = [self._buffer(matrix) for matrix in matrices]
        torch._foreach_lerp_(buffers, gradients, 1 - momentum)
        nesterov = torch._foreach_lerp(gradients, buffers, momentum)
        rows, columns = matrices[0].shape
        directions = orthogonalise(torch.stack(nesterov)).to(matrices[0].dtype).unbind()
        weights: list[Tensor] = list(matrices)
        torch._foreach_mul_(weights, 1 - lr * weight_decay)
        torch._foreach_add_(weights, directions, alpha=-lr * max(1.0, rows / columns) ** 0.5)

    def _buffer(self, matrix: nn.Parameter) -> Tensor:
        state = self.state[matrix]
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = torch.zeros_like(matrix)
        buffer: Tensor = state["momentum_buffer"]
        return buffer


def orthogonalise(matrices: Matrices) -> Matrices:
    """The same singular vectors, with singular values of about one: Newton–Schulz iterations."""
    if matrices.shape[1] > matrices.shape[2]:
        return orthogonalise(matrices.mT).mT
    fast = has_fast_bfloat16(matrices.device.type)
    x = matrices.to(torch.bfloat16 if fast else torch.float32)
    x = x / x.norm(dim=(1, 2), keepdim=True).clamp(min=EPS)
    a, b, c = COEFFICIENTS
    for _ in range(ITERATIONS):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x
