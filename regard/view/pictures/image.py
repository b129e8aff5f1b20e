"""Attention on an image: the weights that the pooling and each patch give to the patches, in one layer or rolled out.

The pooling is itself a weighting of tokens: a class token selects itself, mean pooling weighs all tokens equally, a
learned query has attention weights of its own. Its attention in a layer is that of the tokens, averaged by them.
"""

import base64
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from regard.core.errors import ConfigError, UserError
from regard.tasks.recording import AttentionMap, Recording, ViewedImage
from regard.view.pictures.attention import find_map, summarise_map
from regard.view.pictures.values import encode_matrix


def patch_weights(recording: Recording, attention: str, head: int | None = None) -> Float[Tensor, "viewer patch"]:
    """Weights on the patches: of the pooling first, then of each patch; for a learned query's attention of it alone."""
    image, attention_map = image_of(recording), find_map(recording, attention)
    if not _has_patch_keys(attention_map, image):
        raise ConfigError(f"{attention}: attends to slots, which have no place on the image")
    heads = len(attention_map.pattern)
    if head is not None and not 0 <= head < heads:
        raise ConfigError(f"head {head}: {attention} has {heads} heads, numbered from 0")
    pattern = attention_map.pattern.mean(0) if head is None else attention_map.pattern[head]
    return pattern[:, image.prefix_tokens :] if _is_pooling(attention_map) else _by_viewer(recording, pattern)


def rollout(recording: Recording, attention: str | None = None) -> Float[Tensor, "viewer patch"]:
    """Attention rollout up to this layer: half of each state is the residual stream (Abnar & Zuidema, 2020)."""
    image, layers = image_of(recording), _layers(recording)
    if attention is not None and not _is_pooling(find_map(recording, attention)):
        layers = layers[: [one.name for one in layers].index(attention) + 1]
    rolled = torch.eye(image.patches**2 + image.prefix_tokens)
    for layer in layers:
        if not _has_patch_keys(layer, image):
            raise UserError(f"no rollout: {layer.name} attends to slots, which have no place on the image")
        rolled = (layer.pattern.mean(0) @ rolled + rolled) / 2
    return _by_viewer(recording, rolled)


def last_map(recording: Recording) -> str:
    """The attention closest to the label: that of a learned query, or of the last layer."""
    names = [one.name for one in recording.maps if _has_patch_keys(one, image_of(recording))]
    if not names:
        raise UserError("no attention of this model has the patches of the image as keys")
    return names[-1]


def image_of(recording: Recording) -> ViewedImage:
    if recording.image is None:
        raise ConfigError("this recording has no image")
    return recording.image


def as_rgb(image: ViewedImage) -> Tensor:
    """Row, column, and red, green, blue."""
    return image.pixels.expand(3, -1, -1).permute(1, 2, 0).contiguous()


def image_picture(recording: Recording) -> dict[str, Any]:
    """The image as the model reads it, and the attention maps that can be drawn on it."""
    image = image_of(recording)
    maps = [one for one in recording.maps if _has_patch_keys(one, image)]
    return {
        "side": image.pixels.shape[-1],
        "patches": image.patches,
        "pool": image.pool,
        "pixels": base64.b64encode(as_rgb(image).numpy().tobytes()).decode("ascii"),
        "maps": [summarise_map(one) for one in maps],
        "has_rollout": all(_has_patch_keys(one, image) for one in _layers(recording)),
    }


def patch_picture(recording: Recording, attention: str, head: int | None = None) -> dict[str, Any]:
    return {"weights": encode_matrix(patch_weights(recording, attention, head))}


def rollout_picture(recording: Recording, attention: str | None = None) -> dict[str, Any]:
    return {"weights": encode_matrix(rollout(recording, attention))}


def _layers(recording: Recording) -> list[AttentionMap]:
    return [one for one in recording.maps if not _is_pooling(one)]


def _is_pooling(one: AttentionMap) -> bool:
    return one.name.startswith("pool")


def _has_patch_keys(one: AttentionMap, image: ViewedImage) -> bool:
    return len(one.keys) == image.patches**2 + image.prefix_tokens


def _pooling_weights(recording: Recording) -> Float[Tensor, " token"]:
    image = image_of(recording)
    count = image.patches**2 + image.prefix_tokens
    if image.pool == "learned query":
        return next(one for one in recording.maps if _is_pooling(one)).pattern.mean(0)[0]
    return torch.eye(count)[0] if image.pool == "class token" else torch.full((count,), 1 / count)


def _by_viewer(recording: Recording, pattern: Float[Tensor, "token token"]) -> Float[Tensor, "viewer patch"]:
    prefix = image_of(recording).prefix_tokens
    return torch.cat([(_pooling_weights(recording) @ pattern)[None], pattern[prefix:]])[:, prefix:]
