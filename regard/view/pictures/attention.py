"""Attention as pictures: all heads of a model as small maps, or one head in full."""

from typing import Any

from regard.core.errors import ConfigError, did_you_mean
from regard.view.pictures.values import packed, shrunk
from regard.view.recording import Look, Recording


def overview_picture(recording: Recording, most: int = 32) -> dict[str, Any]:
    """Every head as a map of at most so many rows and columns. Maps are brightest at their own largest weight."""
    return {
        "looks": [
            {**described(look), "maps": [packed(small) for small in shrunk(look.pattern, most)]}
            for look in recording.looks
        ]
    }


def described(look: Look) -> dict[str, Any]:
    heads, queries, keys = look.pattern.shape
    return {"name": look.name, "part": look.part, "heads": heads, "queries": queries, "keys": keys}


def head_picture(
    recording: Recording, name: str, head: int, first: int = 0, last: int | None = None, most: int | None = None
) -> dict[str, Any]:
    """One head: what queries `first` up to `last` give to all keys; with `most` the whole, as a map that small."""
    look = find_look(recording, name)
    heads, queries, _ = look.pattern.shape
    if not 0 <= head < heads:
        raise ConfigError(f"head {head}: {name} has {heads}, the first of which is 0")
    last = queries if last is None else min(last, queries)
    if not 0 <= first <= last:
        raise ConfigError(f"queries {first} to {last}: there are {queries}")
    found = look.pattern[head]
    weights = found[first:last] if most is None else shrunk(found[None], most)[0]
    return {
        **described(look),
        "head": head,
        "first": first,
        "labels": {"queries": look.queries, "keys": look.keys},
        "weights": packed(weights),
    }


def find_look(recording: Recording, name: str) -> Look:
    look = recording.look(name)
    if look is None:
        known = did_you_mean(name, [one.name for one in recording.looks])
        raise ConfigError(f"{name}: there is no such attention; {known}")
    return look
