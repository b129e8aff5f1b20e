"""Rotary positions in config.json: `rope_parameters`, and `rope_theta` with `rope_scaling` as older files have it."""

from typing import Any

from regard.interop.settings import LENGTH, Settings
from regard.parts.positions import LinearScaling, Llama3Scaling, Rotary


def read_rotary(file: Settings, base_key: str, length: int, turned: float) -> Rotary:
    """`turned` is the part of each head that turns where the file does not say: ours turn whole."""
    base = file.number(base_key, 10000.0, low=1.0, high=1e12)
    new, old = file.part("rope_parameters"), file.part("rope_scaling")
    rope = old or new or Settings({}, file.where)  # in transformers, too, the older key wins
    kind = rope.choice("rope_type" if "rope_type" in rope.data else "type", KINDS, "default")
    rope.read_keys |= {"type", "rope_type"}
    base = rope.number("rope_theta", base, low=1.0, high=1e12)
    _whole_heads(file, rope, turned)
    rotary = Rotary(base, kind(rope, file, length))
    if unread := rope.unread():
        raise rope.error(unread[0], rope.data[unread[0]], "is more than our rotary positions can express")
    return rotary


def _whole_heads(file: Settings, rope: Settings, turned: float) -> None:
    places = ((rope, "partial_rotary_factor"), (file, "partial_rotary_factor"), (file, "rotary_pct"))
    for place, key in places:
        place.only(key, 1, 1.0, None)
    if turned != 1.0 and not any(key in place.data for place, key in places):
        raise file.error("rotary_pct", turned, "(its default) turns a part of each head; ours turn whole")


def _stretch(rope: Settings, file: Settings, length: int) -> LinearScaling:
    return LinearScaling(rope.number("factor", None, low=1e-3, high=1e6))


def _stretch_slow(rope: Settings, file: Settings, length: int) -> Llama3Scaling:
    first = "original_max_position_embeddings"
    learned = file.integer(first, None, LENGTH) if first in file.data else rope.integer(first, length, LENGTH)
    rope.read_keys.add(first)
    return Llama3Scaling(
        factor=rope.number("factor", None, low=1e-3, high=1e6),
        length=learned,
        low=rope.number("low_freq_factor", None, low=0.0, high=1e6),
        high=rope.number("high_freq_factor", None, low=0.0, high=1e6),
    )


KINDS = {"default": lambda rope, file, length: None, "linear": _stretch, "llama3": _stretch_slow}


def write_rotary(rotary: Rotary, base_key: str) -> dict[str, Any]:
    """Both forms, so that tools which know only the older one read it too."""
    scaling: dict[str, Any] = {}
    if isinstance(rotary.scaling, LinearScaling):
        scaling = {"rope_type": "linear", "factor": rotary.scaling.factor}
    if isinstance(rotary.scaling, Llama3Scaling):
        scaling = {
            "rope_type": "llama3",
            "factor": rotary.scaling.factor,
            "low_freq_factor": rotary.scaling.low,
            "high_freq_factor": rotary.scaling.high,
            "original_max_position_embeddings": rotary.scaling.length,
        }
    whole = {"rope_type": "default"} | scaling | {"rope_theta": rotary.base, "partial_rotary_factor": 1.0}
    return {base_key: rotary.base, "rope_parameters": whole} | ({"rope_scaling": whole} if scaling else {})
