"""Norms: keep the scale of what flows between blocks."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard.core.config import Config

FEW = 2**13  # numbers: of more, doubling them costs more than it saves


class NormConfig(Config):
    def build(self, width: int) -> nn.Module:
        raise NotImplementedError("abstract: a config builds its norm")


@dataclass(frozen=True)
class LayerNorm(NormConfig):
    """Mean to zero, deviation to one, then a learned gain and shift (Ba et al., 2016)."""

    eps: float = 1e-5
    bias: bool = True  # the learned shift

    def build(self, width: int) -> nn.Module:
        return nn.LayerNorm(width, eps=self.eps, bias=self.bias)


@dataclass(frozen=True)
class RMSNorm(NormConfig):
    """Root mean square to one, then a learned gain; no mean is taken (Zhang & Sennrich, 2019)."""

    eps: float = 1e-6

    def build(self, width: int) -> nn.Module:
        return RootMeanSquare(width, eps=self.eps)


class RootMeanSquare(nn.RMSNorm):
    """On a processor torch makes this norm of eight small operations, which is a tenth of a step that writes one token.

    A vector followed by its negative has mean 0, and then the layer norm, which is one operation, is the same.
    """

    def forward(self, x: Tensor) -> Tensor:
        plain = torch.is_grad_enabled() or torch.compiler.is_exporting()  # an exported norm must fit any size
        if plain or x.numel() > FEW or x.dtype != self.weight.dtype or x.device.type != "cpu":
            return super().forward(x.view_as(x))  # so that its gradient is summed before a residual's is added
        width = x.shape[-1]
        twice = torch.layer_norm(torch.cat([x, -x], -1), (2 * width,), None, None, self.eps or 0.0)
        return twice[..., :width] * self.weight


@dataclass(frozen=True)
class NoNorm(NormConfig):
    """No norm: an ablation, to measure what norms are worth."""

    def build(self, width: int) -> nn.Module:
        return nn.Identity()


Norm = LayerNorm | RMSNorm | NoNorm


@dataclass(frozen=True)
class AcrossHeads(Config):
    """A norm over all heads together, where a norm of queries and keys is usually inside each head."""

    norm: Norm = RMSNorm()
