"""Norms: keep the scale of what flows between blocks."""

from dataclasses import dataclass

from torch import nn


@dataclass(frozen=True)
class LayerNorm:
    """Mean to zero, deviation to one, then a learned gain and shift (Ba et al., 2016)."""

    eps: float = 1e-5

    def build(self, width: int) -> nn.Module:
        return nn.LayerNorm(width, eps=self.eps)


@dataclass(frozen=True)
class RMSNorm:
    """Root mean square to one, then a learned gain; no mean is taken (Zhang & Sennrich, 2019)."""

    eps: float = 1e-6

    def build(self, width: int) -> nn.Module:
        return nn.RMSNorm(width, eps=self.eps)


@dataclass(frozen=True)
class NoNorm:
    """Nothing, to find out what norms are worth."""

    def build(self, width: int) -> nn.Module:
        return nn.Identity()


Norm = LayerNorm | RMSNorm | NoNorm
