"""Batches of labelled images: bytes from the image cache, augmented and normalised."""

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
from regard.data.images.image_rows import check_image_columns
from regard.data.images.image_types import Resize
from regard.data.sampler import Sampler

SAMPLE_BYTES = 1 << 24  # of the images that mean and standard deviation are estimated from


@dataclass(frozen=True, kw_only=True)
class ImageFiles:
    train: tuple[str, ...]
    valid: tuple[str, ...] = ()  # none: a random part of `train`, the same each time
    valid_fraction: float = 0.1  # of the training images, if `valid` is not given
    columns: tuple[str, ...] = ()  # the names of the image and label columns of a data set, if not image and label
    resize: Resize = "crop"  # how images that are not square become square
    augment: Augment = Augment()

    def __post_init__(self) -> None:
        share(valid_fraction=self.valid_fraction)
        check_image_columns(self.columns)
        if not self.train:
            raise ConfigError("train: a folder, an .npz or a list of images is needed")


@dataclass(frozen=True)
class ImageBatch(TensorBatch):
    images: Images
    label: Int[Tensor, " batch"]
    mixed_label: Int[Tensor, " batch"]  # of the image that was blended in by mixup
    weight: Float[Tensor, " batch"]  # of `label`; `mixed_label` has the rest

    @property
    def rows(self) -> int:
        return len(self.images)

    @property
    def size(self) -> int:
        return len(self.images)


@dataclass(frozen=True)
class Normalisation:
    """Mean and standard deviation of each channel, of pixels from 0 to 1."""

    mean: tuple[float, ...]
    std: tuple[float, ...]

    def __call__(self, images: Bytes) -> Images:
        mean, std = (255 * torch.tensor(x, device=images.device)[:, None, None] for x in (self.mean, self.std))
        return (images.float() - mean) / std

    @staticmethod
    def estimate(images: np.ndarray, rows: Sequence[int]) -> "Normalisation":
        """From these rows, or from an evenly spaced sample of them."""
        largest = max(1, SAMPLE_BYTES // images[0].size)
        sample = images[list(rows[:: -(-len(rows) // largest)])]
        mean = [sample[:, channel].mean() / 255 for channel in range(sample.shape[1])]
        std = [max(sample[:, channel].std() / 255, 0.01) for channel in range(sample.shape[1])]
        return Normalisation(tuple(round(float(x), 4) for x in mean), tuple(round(float(x), 4) for x in std))


class LabelledImages:
    """Batches of images; the batch of a step and its augmentation depend on the seed and the step alone."""

    fixed_shape = True

    def __init__(
        self,
        images: np.ndarray,
        labels: np.ndarray,  # the class index of each image
        rows: Sequence[int],  # the images to use
        normalise: Normalisation,
        batch: int,
        seed: int = 0,
        augment: Augment = Augment(),
    ):
        self.images, self.labels, self.rows, self.normalise = images, labels, rows, normalise
        self.batch_size, self.seed, self.augment = batch, seed, augment
        self.sampler = Sampler(torch.ones(len(rows), dtype=torch.int8), batch, seed)

    @property
    def steps_per_epoch(self) -> int:
        return self.sampler.steps_per_epoch

    def batch(self, step: int) -> ImageBatch:
        rng = np.random.default_rng(seed_for("augment", self.seed, step))
        pixels, label = self._read([self.rows[index] for index in self.sampler.rows(step)])
        images = self.augment.random_erase(self.normalise(self.augment.shift_and_flip(pixels, rng)), rng)
        images, other, weight = self.augment.mixup(images, rng)
        return ImageBatch(images, label, label[other], weight)

    def once(self) -> Iterator[ImageBatch]:
        for first in range(0, len(self.rows), self.batch_size):
            pixels, label = self._read(self.rows[first : first + self.batch_size])
            yield ImageBatch(self.normalise(pixels), label, label, torch.ones(len(label)))

    def _read(self, rows: Sequence[int]) -> tuple[Bytes, Int[Tensor, " image"]]:
        return torch.from_numpy(self.images[list(rows)]), torch.from_numpy(self.labels[list(rows)])
