"""Alignment: what of the source each token of the target looked at, whatever model wrote it."""

from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from regard.core.errors import ConfigError, UserError
from regard.view.pictures.attention import find_look
from regard.view.pictures.values import packed
from regard.view.recording import Look, Recording


class Aligned(NamedTuple):
    weights: Float[Tensor, "target source"]
    target: tuple[str, ...]
    source: tuple[str, ...]


def aligned(recording: Recording, name: str | None = None, head: int | None = None) -> Aligned:
    """The mean of these looks at the source: of one attention or all, of one head or all."""
    looks = [look for look in recording.looks if looks_across(look)]
    if not looks:
        told = recording.notes[0] if recording.notes else "this model reads no source beside what it writes"
        raise UserError(f"no alignment: {told}")
    if name is not None:
        looks = [look for look in looks if look is find_look(recording, name)]
        if not looks:
            raise ConfigError(f"{name}: does not look at the source")
    heads = looks[0].pattern.shape[0]
    if head is not None and not 0 <= head < heads:
        raise ConfigError(f"head {head}: there are {heads}, the first of which is 0")
    each = [look.pattern if head is None else look.pattern[head : head + 1] for look in looks]
    weights = torch.cat(each).mean(0)
    queries, keys, source = looks[0].queries, looks[0].keys, looks[0].source
    if source:  # one text: the places after the source write, each the token that comes next
        return Aligned(weights[source:, :source], (*queries[source + 1 :], keys[source - 1]), keys[:source])
    return Aligned(weights, queries, keys)


def looks_across(look: Look) -> bool:
    return look.part == "across" or look.source > 0


def align_picture(recording: Recording, name: str | None = None, head: int | None = None) -> dict[str, Any]:
    weights, target, source = aligned(recording, name, head)
    return {"labels": {"queries": target, "keys": source}, "weights": packed(weights)}
