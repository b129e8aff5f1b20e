"""Vision Transformer: an image is a text of patches, read without a mask (Dosovitskiy et al., 2021)."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import nn

from regard.core.errors import ConfigError, at_least
from regard.core.shapes import Images, Labels
from regard.parts.dropout import Dropout
from regard.parts.embed import Patches, first_token
from regard.parts.linear import Linear
from regard.parts.positions import Learned, Places, Position
from regard.parts.start import begin
from regard.parts.trunk import Trunk


@dataclass(frozen=True, kw_only=True)
class ViT(Trunk):
    labels: int
    image: int = 28  # pixels along a side
    patch: int = 4
    channels: int = 1
    pool: Literal["token", "mean"] = "token"  # what the label is read from: a class token, or the mean of the patches
    position: Position | None = None  # type: ignore[assignment]  # None: learned, one for each patch and the token

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(1, labels=self.labels, image=self.image, patch=self.patch, channels=self.channels)
        if self.image % self.patch:
            raise ConfigError(f"image {self.image} is not divisible by patch {self.patch}")

    def build(self) -> "ViTModel":
        return ViTModel(self)


class ViTModel(nn.Module):
    def __init__(self, config: ViT):
        super().__init__()
        self.config = config
        self.patches = Patches(config.image, config.patch, config.channels, config.width)
        self.token = nn.Parameter(torch.zeros(1, 1, config.width)) if config.pool == "token" else None
        length = self.patches.count + (config.pool == "token")
        self.drop = Dropout(config.dropout)
        self.encoder = config.stack(causal=False, position=config.position or Learned(length))
        self.label = Linear(config.width, config.labels)
        begin(self, self.encoder.blocks, quiet=config.quiet)

    def forward(self, images: Images) -> Labels:
        x = self.patches(images)
        if self.token is not None:
            x = first_token(self.token, x)
        places = Places.counting(x.shape[1], device=x.device)
        x = self.encoder(self.drop(self.encoder.position.embed(x, places)), None, places)
        return self.label(x[:, 0] if self.token is not None else x.mean(1))
