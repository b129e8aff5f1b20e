"""Attention as pictures: all heads of a model as small maps, or one head in full."""

from typing import Any

from regard.core.errors import ConfigError, did_you_mean
from regard.tasks.recording import AttentionMap, Recording
from regard.view.pictures.values import downsample, encode_matrix


def overview_picture(recording: Recording, max_size: int = 32) -> dict[str, Any]:
    """Every head as a map of at most `max_size` rows and columns."""
    return {
        "maps": [
            {**summarise_map(one), "weights": [encode_matrix(small) for small in downsample(one.pattern, max_size)]}
            for one in recording.maps
        ]
    }


def summarise_map(one: AttentionMap) -> dict[str, Any]:
    heads, queries, keys = one.pattern.shape
    return {"name": one.name, "part": one.part, "heads": heads, "queries": queries, "keys": keys}


def head_picture(
    recording: Recording,
    attention: str,
    head: int,
    first: int = 0,
    last: int | None = None,
    max_size: int | None = None,
) -> dict[str, Any]:
    """The weights of one head for queries `first` to `last`; with `max_size` of all queries, downsampled."""
    attention_map = find_map(recording, attention)
    heads, queries, _ = attention_map.pattern.shape
    if not 0 <= head < heads:
        raise ConfigError(f"head {head}: {attention} has {heads} heads, numbered from 0")
    last = queries if last is None else min(last, queries)
    if not 0 <= first <= last:
        raise ConfigError(f"queries {first} to {last}: there are {queries}")
    pattern = attention_map.pattern[head]
    weights = pattern[first:last] if max_size is None else downsample(pattern[None], max_size)[0]
    return {
        **summarise_map(attention_map),
        "head": head,
        "first": first,
        "labels": {"queries": attention_map.queries, "keys": attention_map.keys},
        "weights": encode_matrix(weights),
    }


def find_map(recording: Recording, name: str) -> AttentionMap:
    attention_map = recording.map(name)
    if attention_map is None:
        known = did_you_mean(name, [one.name for one in recording.maps])
        raise ConfigError(f"{name}: no such attention; {known}")
    return attention_map
