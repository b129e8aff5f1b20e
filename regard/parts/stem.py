"""Stems: what an image goes through before it is cut into patches."""

from dataclasses import dataclass
from itertools import pairwise

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from regard.core.config import Config
from regard.core.errors import ConfigError, at_least
from regard.core.shapes import Images


class StemConfig(Config):
    def build(self, channels: int) -> nn.Module:
        raise NotImplementedError("abstract: a config builds its stem")

    def channels_of(self, image: int) -> int:
        """How many channels it makes of those of the image."""
        raise NotImplementedError("abstract: a stem gives channels")


@dataclass(frozen=True)
class NoStem(StemConfig):
    """Patches of the image itself, as in the paper."""

    shrink = 1

    def build(self, channels: int) -> nn.Module:
        return nn.Identity()

    def channels_of(self, image: int) -> int:
        return image


@dataclass(frozen=True)
class Convolutions(StemConfig):
    """A few small convolutions: patches then begin as edges and corners, which few images teach (Xiao et al., 2021)."""

    channels: tuple[int, ...] = (32, 64)  # that each convolution gives
    shrink: int = 2  # how many times fewer rows and columns the last gives: 1, 2, 4, … as the last ones step by two

    def __post_init__(self) -> None:
        if not self.channels:
            raise ConfigError("channels: at least one convolution is needed; NoStem has none")
        at_least(1, channels=min(self.channels), shrink=self.shrink)
        if self.shrink not in [2**halvings for halvings in range(len(self.channels) + 1)]:
            most = 2 ** len(self.channels)
            raise ConfigError(f"shrink: must be a power of two up to {most}, not {self.shrink}")

    def build(self, channels: int) -> "ConvolutionStem":
        return ConvolutionStem((channels, *self.channels), self.shrink)

    def channels_of(self, image: int) -> int:
        return self.channels[-1]


Stem = NoStem | Convolutions


class ConvolutionStem(nn.Module):
    def __init__(self, channels: tuple[int, ...], shrink: int):
        super().__init__()
        keep = len(channels) - shrink.bit_length()  # convolutions before the first that halves
        self.convolutions = nn.ModuleList(
            nn.Conv2d(inputs, outputs, 3, stride=1 if number < keep else 2, padding=1)
            for number, (inputs, outputs) in enumerate(pairwise(channels))
        )
        # A norm over each image by itself: one over the batch would make images depend on their neighbours.
        self.norms = nn.ModuleList(nn.GroupNorm(1, outputs) for outputs in channels[1:])

    def forward(self, images: Images) -> Float[Tensor, "batch features rows columns"]:
        x: Tensor = images
        for convolution, norm in zip(self.convolutions, self.norms, strict=True):
            x = F.relu(norm(convolution(x)))
        return x
