"""Batches of labelled images: bytes from an album, augmented, and normed to mean 0 and deviation 1."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.core.errors import ConfigError, share
from regard.core.machine import seed_for
from regard.core.shapes import Images
from regard.data.batch import TensorBatch
from regard.data.images.augment import Augment, Bytes
from regard.data.images.pixels import Framing
from regard.data.sampler import Order

SAMPLE = 1 << 24  # bytes of images that mean and deviation are taken from


@dataclass(frozen=True, kw_only=True)
class ImageFiles:
    train: tuple[str, ...]
    valid: tuple[str, ...] = ()  # none: a share of the images of `train`, drawn at random but the same each time
    valid_share: float = 0.1
    framing: Framing = "crop"
    augment: Augment = Augment()

    def __post_init__(self) -> None:
        share(valid_share=self.valid_share)
        if not self.train:
            raise ConfigError("train: a folder, an .npz or a list of images is needed")


@dataclass(frozen=True)
class ImageBatch(TensorBatch):
    images: Images
    label: Int[Tensor, " batch"]
    other: Int[Tensor, " batch"]  # the label of what was mixed into the image
    own: Float[Tensor, " batch"]  # the share of the image that is its own

    @property
    def rows(self) -> int:
        return len(self.images)

    @property
    def size(self) -> int:
        return len(self.images)


@dataclass(frozen=True)
class Scale:
    """Mean and deviation of each channel, as shares of white."""

    mean: tuple[float, ...]
    spread: tuple[float, ...]

    def norm(self, images: Bytes) -> Images:
        mean, spread = (255 * torch.tensor(values)[:, None, None] for values in (self.mean, self.spread))
        return (images.float() - mean) / spread

    @staticmethod
    def of(images: np.ndarray, rows: Sequence[int]) -> "Scale":
        """Of these rows, or of so many of them that spread evenly."""
        most = max(1, SAMPLE // images[0].size)
        some = images[list(rows[:: -(-len(rows) // most)])]
        mean = [some[:, channel].mean() / 255 for channel in range(some.shape[1])]
        spread = [max(some[:, channel].std() / 255, 0.01) for channel in range(some.shape[1])]
        return Scale(tuple(round(float(x), 4) for x in mean), tuple(round(float(x), 4) for x in spread))


class LabelledImages:
    """The batch of a step, and all that chance does to it, follow from the seed and the number of the step."""

    fixed_shape = True

    def __init__(
        self,
        images: np.ndarray,
        labels: np.ndarray,  # of each image, as numbers
        rows: Sequence[int],  # those images that are meant
        scale: Scale,
        batch: int,
        seed: int = 0,
        augment: Augment = Augment(),
    ):
        self.images, self.labels, self.rows, self.scale = images, labels, rows, scale
        self.batch_size, self.seed, self.augment = batch, seed, augment
        self.order = Order(torch.ones(len(rows), dtype=torch.int8), batch, seed)

    @property
    def steps_per_epoch(self) -> int:
        return self.order.steps_per_epoch

    def batch(self, step: int) -> ImageBatch:
        dice = np.random.default_rng(seed_for("augment", self.seed, step))
        pixels, label = self._read([self.rows[place] for place in self.order.rows(step)])
        images = self.augment.cover(self.scale.norm(self.augment.move(pixels, dice)), dice)
        images, other, own = self.augment.pair(images, dice)
        return ImageBatch(images, label, label[other], own)

    def once(self) -> Iterator[ImageBatch]:
        for first in range(0, len(self.rows), self.batch_size):
            pixels, label = self._read(self.rows[first : first + self.batch_size])
            yield ImageBatch(self.scale.norm(pixels), label, label, torch.ones(len(label)))

    def _read(self, rows: Sequence[int]) -> tuple[Bytes, Int[Tensor, " image"]]:
        return torch.from_numpy(self.images[list(rows)]), torch.from_numpy(self.labels[list(rows)])
