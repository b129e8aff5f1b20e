"""Classify images: which label an image has."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from regard.core.batches import Loss
from regard.core.errors import share
from regard.data.images.image_cache import View, decode
from regard.data.images.image_files import Found
from regard.data.images.images import ImageBatch, Scale
from regard.data.images.pixels import Framing, ImageError


@dataclass(frozen=True)
class ClassifyImages:
    labels: tuple[str, ...] = ()  # in the order of the scores; none: those of the training images
    framing: Framing = "crop"  # as in training
    mean: tuple[float, ...] = ()  # of each channel; none: those of the training images
    spread: tuple[float, ...] = ()
    smoothing: float = 0.0
    unit = "images"

    def __post_init__(self) -> None:
        share(smoothing=self.smoothing)

    @property
    def scale(self) -> Scale:
        return Scale(self.mean, self.spread)

    def loss(self, model: nn.Module, batch: ImageBatch) -> Loss:
        """A mixed image has both labels, each in its share."""
        scores = model(batch.images).float()
        smoothing = self.smoothing if model.training else 0.0
        surprise, other = (
            F.cross_entropy(scores, label, reduction="none", label_smoothing=smoothing)
            for label in (batch.label, batch.other)
        )
        total = (batch.own * surprise + (1 - batch.own) * other).sum()
        return Loss(total, torch.tensor(batch.rows))


def image_chances(
    model: nn.Module, task: ClassifyImages, view: View, found: Iterable[Found], batch: int = 128
) -> Iterator[tuple[Found, Float[Tensor, " label"] | ImageError]]:
    """The probability of each label for each image, or why it has none; of any number of images, as they come."""
    model.eval()
    decoded = decode(found, view)
    while together := list(islice(decoded, batch)):
        images = [pixels for _, pixels in together if isinstance(pixels, np.ndarray)]
        chances = iter(pixel_chances(model, task, np.stack(images)) if images else ())
        for one, pixels in together:
            yield one, next(chances) if isinstance(pixels, np.ndarray) else pixels


@torch.inference_mode()
def pixel_chances(model: nn.Module, task: ClassifyImages, images: np.ndarray) -> Float[Tensor, "image label"]:
    return model(task.scale.norm(torch.from_numpy(images))).float().softmax(-1)
