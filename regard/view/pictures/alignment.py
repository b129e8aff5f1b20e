"""Alignment: the attention of each target token over the source tokens, for every kind of model that reads a source."""

from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from regard.core.errors import ConfigError, UserError
from regard.tasks.recording import AttentionMap, Recording
from regard.view.pictures.attention import find_map
from regard.view.pictures.values import encode_matrix


class Alignment(NamedTuple):
    weights: Float[Tensor, "target source"]
    target: tuple[str, ...]
    source: tuple[str, ...]


def align(recording: Recording, attention: str | None = None, head: int | None = None) -> Alignment:
    """The attention to the source, averaged over all attention modules and heads that are not selected by name."""
    maps = [one for one in recording.maps if attends_to_source(one)]
    if not maps:
        reason = recording.notes[0] if recording.notes else "this model reads no source beside what it writes"
        raise UserError(f"no alignment: {reason}")
    if attention is not None:
        maps = [one for one in maps if one is find_map(recording, attention)]
        if not maps:
            raise ConfigError(f"{attention}: does not attend to the source")
    heads = maps[0].pattern.shape[0]
    if head is not None and not 0 <= head < heads:
        raise ConfigError(f"head {head}: there are {heads} heads, numbered from 0")
    patterns = [one.pattern if head is None else one.pattern[head : head + 1] for one in maps]
    weights = torch.cat(patterns).mean(0)
    queries, keys, source = maps[0].queries, maps[0].keys, maps[0].source
    if source:  # source and target in one sequence: each position after the source predicts the next token
        return Alignment(weights[source:, :source], (*queries[source + 1 :], keys[source - 1]), keys[:source])
    return Alignment(weights, queries, keys)


def attends_to_source(one: AttentionMap) -> bool:
    return one.part == "cross" or one.source > 0


def alignment_picture(recording: Recording, attention: str | None = None, head: int | None = None) -> dict[str, Any]:
    weights, target, source = align(recording, attention, head)
    return {"labels": {"queries": target, "keys": source}, "weights": encode_matrix(weights)}
