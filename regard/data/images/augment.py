"""Augmentation: the same images shifted, mirrored, covered in part and mixed, so that few of them teach more."""

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
    """Every one is off at 0."""

    crop: float = 0.0  # an image is shifted by up to this share of its side; what enters repeats the edge
    flip: float = 0.0  # this share of the images is mirrored left to right: not for digits, letters, roads
    erase: float = 0.0  # in this share of the images a rectangle is covered (Zhong et al., 2020)
    mix: float = 0.0  # images are mixed in pairs, with their labels, in a share drawn from Beta(mix, mix) (Zhang, 2018)

    def __post_init__(self) -> None:
        share(crop=self.crop)
        not_negative(mix=self.mix)
        for name in ("flip", "erase"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(f"{name}: must be between 0 and 1, not {getattr(self, name)}")

    def move(self, images: Bytes, dice: np.random.Generator) -> Bytes:
        """Shifted and mirrored: each pixel is looked up where it came from."""
        count, _, side, _ = images.shape
        most = round(self.crop * side)
        if not most and not self.flip:
            return images
        shift = torch.from_numpy(dice.integers(-most, most + 1, (2, count, 1)))
        mirrored = torch.from_numpy(dice.random((count, 1)) < self.flip)
        rows, columns = (torch.arange(side) + shift).clamp(0, side - 1)
        columns = torch.where(mirrored, side - 1 - columns, columns)
        every = torch.arange(count)[:, None, None]
        return images.permute(0, 2, 3, 1)[every, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)

    def cover(self, images: Pixels, dice: np.random.Generator) -> Pixels:
        """A rectangle of a fiftieth to a quarter of the image becomes the mean of all images, which is 0."""
        if not self.erase:
            return images
        count, _, side, _ = images.shape
        chosen = torch.from_numpy(dice.random((count, 1, 1)) < self.erase)
        area, ratio = dice.uniform(0.02, 0.25, (count, 1)), np.exp(dice.uniform(-1.0, 1.0, (count, 1)))
        covered = []
        for length in (np.sqrt(area * ratio), np.sqrt(area / ratio)):
            size = np.clip(np.round(length * side), 1, side)
            start = np.floor(dice.random((count, 1)) * (side - size + 1))
            place = np.arange(side)
            covered.append(torch.from_numpy((place >= start) & (place < start + size)))
        rectangle = covered[0][:, :, None] & covered[1][:, None, :] & chosen
        return images.masked_fill(rectangle[:, None], 0.0)

    def pair(
        self, images: Pixels, dice: np.random.Generator
    ) -> tuple[Pixels, Int[Tensor, " image"], Float[Tensor, " image"]]:
        """Each image mixed with another of the batch: which one, and the share that is the image itself."""
        count = len(images)
        other = torch.from_numpy(dice.permutation(count))
        own = np.maximum(part := dice.beta(self.mix, self.mix, count), 1 - part) if self.mix else np.ones(count)
        kept = torch.from_numpy(own.astype(np.float32))
        if self.mix:
            images = torch.lerp(images[other], images, kept[:, None, None, None])
        return images, other, kept
