"""The probability of each label for images, of any number of them, as they come."""

from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.core.machine import device_of
from regard.data.images.image_cache import ImageFormat, decode
from regard.data.images.image_record import ImageRecord
from regard.data.images.image_types import ImageError
from regard.data.images.images import Normalisation

ROWS = 128  # images in a batch


def image_probabilities(
    model: nn.Module, normalise: Normalisation, image_format: ImageFormat, records: Iterable[ImageRecord]
) -> Iterator[tuple[ImageRecord, Float[Tensor, " label"] | ImageError]]:
    """The probabilities of each image, or why it cannot be read."""
    model.eval()
    decoded = decode(records, image_format)
    while some := list(islice(decoded, ROWS)):
        images = [pixels for _, pixels in some if isinstance(pixels, np.ndarray)]
        probabilities = iter(pixel_probabilities(model, normalise, np.stack(images)) if images else ())
        for record, pixels in some:
            yield record, next(probabilities) if isinstance(pixels, np.ndarray) else pixels


@torch.inference_mode()
def pixel_probabilities(model: nn.Module, normalise: Normalisation, images: np.ndarray) -> Float[Tensor, "image label"]:
    model.eval()
    return model(normalise(torch.from_numpy(images).to(device_of(model)))).float().softmax(-1).cpu()
