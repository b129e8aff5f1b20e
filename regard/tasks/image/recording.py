"""Recording a Vision Transformer: the image as it reads it, with attention between patches, named by row and column."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from regard.core.errors import UserError
from regard.data.images.image_types import Resize
from regard.data.images.images import Normalisation
from regard.data.images.pixels import pixels
from regard.models import ViT
from regard.parts import ClassToken, Query
from regard.parts.taps import listen
from regard.tasks.attention_maps import attention_map, check_length, label_names, patterns, ranked
from regard.tasks.base import Run
from regard.tasks.image.answers import pixel_probabilities
from regard.tasks.recording import Recording, ViewedImage, ViewInput

CLASS, QUERY = "⟨class⟩", "⟨query⟩"  # as they are drawn


def record_image(
    run: Run, view_input: ViewInput, normalise: Normalisation, resize: Resize, labels: Sequence[str]
) -> Recording:
    config = run.config
    if not isinstance(config, ViT):
        raise UserError(f"{run.path}: holds a {type(config).__name__}, which reads no images")
    if view_input.image is None:
        raise UserError(f"{run.path}: reads images, and was given none")
    across = config.image // config.patch
    check_length(run, across**2 + config.pool.tokens, "image", "choose a model with larger patches")
    image = pixels(view_input.image.data, config.image, config.channels, resize, view_input.image.name)
    with listen(run.model) as heard:
        [scores] = pixel_probabilities(run.model, normalise, np.stack([image]))
    probabilities = ranked(scores, labels or label_names(run.extra, len(scores)))
    patches = tuple(f"{row},{column}" for row in range(1, across + 1) for column in range(1, across + 1))
    tokens = (*[CLASS] * config.pool.tokens, *patches)
    maps = tuple(
        attention_map(name, pattern, (QUERY,) if name.startswith("pool") else tokens, tokens)
        for name, pattern in patterns(heard).items()
    )
    pool: Any = {ClassToken: "class token", Query: "learned query"}.get(type(config.pool), "mean")
    viewed = ViewedImage(torch.from_numpy(np.array(image)), across, config.pool.tokens, pool)
    return Recording(view_input, probabilities[0][0], probabilities, maps, image=viewed)
