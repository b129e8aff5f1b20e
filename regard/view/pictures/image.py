"""Attention on an image: what the pool looks at and what each patch looks at, in one layer or rolled out through all.

The pool weighs tokens: a class token itself alone, a mean all alike, a learned query as it looks at them. What it sees
in a layer is what the tokens look at there, by their weights.
"""

import base64
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from regard.core.errors import ConfigError, UserError
from regard.view.pictures.attention import described, find_look
from regard.view.pictures.values import packed
from regard.view.recording import Look, Recording, Seen


def on_patches(recording: Recording, look: str, head: int | None = None) -> Float[Tensor, "viewer patch"]:
    """What the pool gives to each patch, then what each patch gives; in the look of a learned query it alone looks."""
    seen, found = seen_of(recording), find_look(recording, look)
    if not _on_tokens(found, seen):
        raise ConfigError(f"{look}: looks at slots, which lie nowhere on the image")
    heads = len(found.pattern)
    if head is not None and not 0 <= head < heads:
        raise ConfigError(f"head {head}: {look} has {heads}, the first of which is 0")
    pattern = found.pattern.mean(0) if head is None else found.pattern[head]
    return pattern[:, seen.before :] if _of_pool(found) else _viewers(recording, pattern)


def rollout(recording: Recording, through: str | None = None) -> Float[Tensor, "viewer patch"]:
    """As `on_patches`, through all layers up to this one: half of each state is what it was (Abnar & Zuidema, 2020)."""
    seen, layers = seen_of(recording), _layers(recording)
    if through is not None and not _of_pool(find_look(recording, through)):
        layers = layers[: [look.name for look in layers].index(through) + 1]
    rolled = torch.eye(seen.patches**2 + seen.before)
    for look in layers:
        if not _on_tokens(look, seen):
            raise UserError(f"no rollout: {look.name} looks at slots, which lie nowhere on the image")
        rolled = (look.pattern.mean(0) @ rolled + rolled) / 2
    return _viewers(recording, rolled)


def last_look(recording: Recording) -> str:
    """What the label is nearest to: the look of a learned query, or that of the last layer."""
    names = [look.name for look in recording.looks if _on_tokens(look, seen_of(recording))]
    if not names:
        raise UserError("no attention of this model looks at patches of the image")
    return names[-1]


def seen_of(recording: Recording) -> Seen:
    if recording.seen is None:
        raise ConfigError("this is no recording of an image")
    return recording.seen


def in_colours(seen: Seen) -> Tensor:
    """Row, column, and red, green, blue."""
    return seen.pixels.expand(3, -1, -1).permute(1, 2, 0).contiguous()


def seen_picture(recording: Recording) -> dict[str, Any]:
    """The image, and which looks can be drawn on it."""
    seen = seen_of(recording)
    looks = [look for look in recording.looks if _on_tokens(look, seen)]
    return {
        "side": seen.pixels.shape[-1],
        "patches": seen.patches,
        "pool": seen.pool,
        "pixels": base64.b64encode(in_colours(seen).numpy().tobytes()).decode("ascii"),
        "looks": [described(look) for look in looks],
        "rolls": all(_on_tokens(look, seen) for look in _layers(recording)),
    }


def patch_picture(recording: Recording, look: str, head: int | None = None) -> dict[str, Any]:
    return {"weights": packed(on_patches(recording, look, head))}


def rollout_picture(recording: Recording, through: str | None = None) -> dict[str, Any]:
    return {"weights": packed(rollout(recording, through))}


def _layers(recording: Recording) -> list[Look]:
    return [look for look in recording.looks if not _of_pool(look)]


def _of_pool(look: Look) -> bool:
    return look.name.startswith("pool")


def _on_tokens(look: Look, seen: Seen) -> bool:
    return len(look.keys) == seen.patches**2 + seen.before


def _pool(recording: Recording) -> Float[Tensor, " token"]:
    seen = seen_of(recording)
    count = seen.patches**2 + seen.before
    if seen.pool == "learned query":
        return next(look for look in recording.looks if _of_pool(look)).pattern.mean(0)[0]
    return torch.eye(count)[0] if seen.pool == "class token" else torch.full((count,), 1 / count)


def _viewers(recording: Recording, pattern: Float[Tensor, "token token"]) -> Float[Tensor, "viewer patch"]:
    before = seen_of(recording).before
    return torch.cat([(_pool(recording) @ pattern)[None], pattern[before:]])[:, before:]
