"""Augmentation: shift, flip, erase and mix the training images, so that a small dataset goes further."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor

from regard.core.errors import ConfigError, not_negative, share

Bytes = UInt8[Tensor, "image channel row column"]
Pixels = Float[Tensor, "image channel row column"]


@dataclass(frozen=True)
class Augment:
    """Each is off at 0."""

    crop: float = 0.0  # shift by up to this fraction of the side; the edge is repeated
    flip: float = 0.0  # probability of mirroring left to right: not for digits, letters or traffic
    erase: float = 0.0  # probability of random erasing: a rectangle is blanked (Zhong et al., 2020)
    mix: float = 0.0  # mixup: blend pairs of images and their labels with weight Beta(mix, mix) (Zhang et al., 2018)

    def __post_init__(self) -> None:
        share(crop=self.crop)
        not_negative(mix=self.mix)
        for name in ("flip", "erase"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(f"{name}: must be between 0 and 1, not {getattr(self, name)}")

    def shift_and_flip(self, images: Bytes, rng: np.random.Generator) -> Bytes:
        """Each output pixel is looked up at the place it came from."""
        count, _, side, _ = images.shape
        largest = round(self.crop * side)
        if not largest and not self.flip:
            return images
        device = images.device
        shift = torch.from_numpy(rng.integers(-largest, largest + 1, (2, count, 1))).to(device)
        flipped = torch.from_numpy(rng.random((count, 1)) < self.flip).to(device)
        rows, columns = (torch.arange(side, device=device) + shift).clamp(0, side - 1)
        columns = torch.where(flipped, side - 1 - columns, columns)
        every = torch.arange(count, device=device)[:, None, None]
        return images.permute(0, 2, 3, 1)[every, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)

    def random_erase(self, images: Pixels, rng: np.random.Generator) -> Pixels:
        """Set a rectangle of 2 % to 25 % of the area to 0, which is the mean of normalised images."""
        if not self.erase:
            return images
        count, _, side, _ = images.shape
        chosen = torch.from_numpy(rng.random((count, 1, 1)) < self.erase)
        area, ratio = rng.uniform(0.02, 0.25, (count, 1)), np.exp(rng.uniform(-1.0, 1.0, (count, 1)))
        covered = []
        for length in (np.sqrt(area * ratio), np.sqrt(area / ratio)):
            size = np.clip(np.round(length * side), 1, side)
            start = np.floor(rng.random((count, 1)) * (side - size + 1))
            index = np.arange(side)
            covered.append(torch.from_numpy((index >= start) & (index < start + size)))
        rectangle = covered[0][:, :, None] & covered[1][:, None, :] & chosen
        return images.masked_fill(rectangle[:, None].to(images.device), 0.0)

    def mixup(
        self, images: Pixels, rng: np.random.Generator
    ) -> tuple[Pixels, Int[Tensor, " image"], Float[Tensor, " image"]]:
        """Each image blended with another of the batch: the result, the index of the other, the image's own weight."""
        count, device = len(images), images.device
        other = torch.from_numpy(rng.permutation(count)).to(device)
        drawn = np.maximum(part := rng.beta(self.mix, self.mix, count), 1 - part) if self.mix else np.ones(count)
        weight = torch.from_numpy(drawn.astype(np.float32)).to(device)
        if self.mix:
            images = torch.lerp(images[other], images, weight[:, None, None, None])
        return images, other, weight
