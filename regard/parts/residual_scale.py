"""Residual scale: how much of each branch is added to the residual stream, by a number or learned for each channel."""

from dataclasses import dataclass

import torch
from torch import nn

from regard.core.config import Config
from regard.core.errors import ConfigError
from regard.core.shapes import Stream


@dataclass(frozen=True)
class LayerScale(Config):
    """A learned factor for each channel of each branch, small at the start of a deep stack (Touvron et al., 2021)."""

    start: float = 0.1

    def __post_init__(self) -> None:
        if not self.start > 0:
            raise ConfigError(f"start: must be above 0, not {self.start}")


ResidualScale = float | LayerScale


def build_scale(scale: ResidualScale, width: int) -> nn.Module:
    if isinstance(scale, LayerScale):
        return ChannelScale(width, scale.start)
    return nn.Identity() if scale == 1.0 else FixedScale(scale)


class ChannelScale(nn.Module):
    def __init__(self, width: int, start: float):
        super().__init__()
        self.weight = nn.Parameter(torch.full((width,), start))

    def forward(self, branch: Stream) -> Stream:
        return branch * self.weight


class FixedScale(nn.Module):
    def __init__(self, scale: float):
        super().__init__()
        self.scale = scale

    def forward(self, branch: Stream) -> Stream:
        return branch * self.scale
