"""Rotary positions in config.json: `rope_parameters`, and `rope_theta` with `rope_scaling` as older files have it."""

import math
from typing import Any

from regard.core.errors import ConfigError
from regard.interop.settings import LENGTH, Settings
from regard.parts.positions import (
    DynamicScaling,
    LinearScaling,
    Llama3Scaling,
    LongScaling,
    Rotary,
    Scaling,
    YarnScaling,
)

FRACTIONS = ("partial_rotary_factor", "rotary_pct")
FIRST = "original_max_position_embeddings"


def read_rotary(file: Settings, base_key: str, length: int, turned: float | None = None) -> Rotary:
    """`turned` is the part of each head that turns where the file does not say; None: always the whole of it."""
    base = file.number(base_key, 10000.0, low=1.0, high=1e12)
    new, old = file.part("rope_parameters"), file.part("rope_scaling")
    return one_rotary(old or new, file, base, length, turned)  # in transformers, too, the older key wins


def read_rotary_by_kind(file: Settings, length: int, bases: dict[str, tuple[str, float]]) -> dict[str, Rotary]:
    """Rotary positions for each kind of layer; `bases` has the older key and the default of each kind's base.

    Older files scale the turns of full attention only.
    """
    new, old = file.part("rope_parameters"), file.part("rope_scaling")
    rotary = {}
    for kind, (key, default) in bases.items():
        base = file.number(key, default, low=1.0, high=1e12)
        by_kind = new is not None and any(isinstance(value, dict) for value in new.data.values())
        scaling = old if kind == "full_attention" else None
        rotary[kind] = one_rotary(new.part(kind) if new is not None and by_kind else scaling, file, base, length, None)
    return rotary


def one_rotary(stated: Settings | None, file: Settings, base: float, length: int, turned: float | None) -> Rotary:
    rope = stated or Settings({}, file.where)
    kind = rope.choice("rope_type" if "rope_type" in rope.data else "type", KINDS, "default")
    rope.read_keys |= {"type", "rope_type"}
    base = rope.number("rope_theta", base, low=1.0, high=1e12)
    rotary = Rotary(base, kind(rope, file, length), _fraction(file, rope, turned))
    if unread := rope.unread():
        raise rope.error(unread[0], rope.data[unread[0]], "is more than our rotary positions can express")
    return rotary


def _fraction(file: Settings, rope: Settings, turned: float | None) -> float:
    fraction = turned or 1.0
    for place, key in ((file, FRACTIONS[1]), (file, FRACTIONS[0]), (rope, FRACTIONS[0])):
        if turned is None:
            place.only(key, 1, 1.0, None)
        elif place.data.get(key) is not None:
            fraction = place.number(key, None, low=1e-3, high=1.0)
        place.read_keys.add(key)
    return fraction


def _factor(rope: Settings) -> float:
    return rope.number("factor", None, low=1e-3, high=1e6)


def _learned_length(rope: Settings, file: Settings, length: int) -> int:
    learned = file.integer(FIRST, None, LENGTH) if FIRST in file.data else rope.integer(FIRST, length, LENGTH)
    rope.read_keys.add(FIRST)
    return learned


def _attention(rope: Settings) -> float | None:
    stated = rope.data.get("attention_factor") is not None
    rope.read_keys.add("attention_factor")
    return rope.number("attention_factor", None, low=0.0, high=1e3) if stated else None


def _linear(rope: Settings, file: Settings, length: int) -> Scaling:
    return LinearScaling(_factor(rope))


def _llama3(rope: Settings, file: Settings, length: int) -> Scaling:
    return Llama3Scaling(
        factor=_factor(rope),
        length=_learned_length(rope, file, length),
        low=rope.number("low_freq_factor", None, low=0.0, high=1e6),
        high=rope.number("high_freq_factor", None, low=0.0, high=1e6),
    )


def _dynamic(rope: Settings, file: Settings, length: int) -> Scaling:
    rope.read_keys.add(FIRST)  # which transformers does not read here
    return DynamicScaling(_factor(rope), length)


def _yarn(rope: Settings, file: Settings, length: int) -> Scaling:
    learned, factor, attention = _learned_length(rope, file, length), _factor(rope), _attention(rope)
    scales = [rope.data.get(key) for key in ("mscale", "mscale_all_dim")]
    rope.read_keys |= {"mscale", "mscale_all_dim"}
    if attention is None and all(scales):
        one, other = (rope.number(key, None, low=0.0, high=1e3) for key in ("mscale", "mscale_all_dim"))
        attention = (0.1 * one * math.log(factor) + 1) / (0.1 * other * math.log(factor) + 1) if factor > 1 else 1.0
    return YarnScaling(
        factor=factor,
        length=learned,
        fast=rope.number("beta_fast", 32.0, low=1e-6, high=1e6),
        slow_rounds=rope.number("beta_slow", 1.0, low=1e-6, high=1e6),
        attention=attention,
        truncate=rope.flag("truncate", True),
    )


def _long(rope: Settings, file: Settings, length: int) -> Scaling:
    learned, attention = _learned_length(rope, file, length), _attention(rope)
    factor = _factor(rope) if rope.data.get("factor") is not None else length / learned
    rope.read_keys.add("factor")
    usual = math.sqrt(1 + math.log(factor) / math.log(learned)) if factor > 1 else 1.0
    short, long = (_divisors(rope, key) for key in ("short_factor", "long_factor"))
    return LongScaling(short, long, learned, usual if attention is None else attention)


def _divisors(rope: Settings, key: str) -> tuple[float, ...]:
    values = rope.data.get(key)
    rope.read_keys.add(key)
    numbers = isinstance(values, list) and all(type(value) in (int, float) and 0 < value < 1e9 for value in values)
    if not isinstance(values, list) or not values or not numbers:
        raise rope.error(key, values, "must be numbers above 0")
    return tuple(float(value) for value in values)


KINDS = {
    "default": lambda rope, file, length: None,
    "linear": _linear,
    "llama3": _llama3,
    "dynamic": _dynamic,
    "yarn": _yarn,
    "longrope": _long,
    "su": _long,
}


def write_rotary(rotary: Rotary, base_key: str, *, part_turns: bool = False) -> dict[str, Any]:
    """Both forms, so that tools which know only the older one read it too."""
    scaling: dict[str, Any] = {}
    if isinstance(rotary.scaling, LinearScaling):
        scaling = {"rope_type": "linear", "factor": rotary.scaling.factor}
    elif isinstance(rotary.scaling, Llama3Scaling):
        scaling = {
            "rope_type": "llama3",
            "factor": rotary.scaling.factor,
            "low_freq_factor": rotary.scaling.low,
            "high_freq_factor": rotary.scaling.high,
            "original_max_position_embeddings": rotary.scaling.length,
        }
    elif rotary.scaling is not None:
        raise ConfigError(f"position.scaling: {rotary.scaling} is read from Hugging Face folders, and not written")
    if rotary.fraction != 1.0 and not part_turns:
        raise ConfigError(f"position.fraction: {rotary.fraction} cannot be stored in this Hugging Face family")
    default = {"rope_type": "default"}
    whole = default | scaling | {"rope_theta": rotary.base, "partial_rotary_factor": rotary.fraction}
    return {base_key: rotary.base, "rope_parameters": whole} | ({"rope_scaling": whole} if scaling else {})
