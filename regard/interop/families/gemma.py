"""Gemma: gains counted from one, scaled embeddings; from 2 on norms around each branch, windows, soft caps (2024)."""

from collections.abc import Callable
from typing import Any

from regard.interop.families.decoder import (
    FULL,
    LAYER,
    SLIDING,
    attention_by_layer,
    biased,
    causal,
    layer_kinds,
    length_of,
    table_of,
    trunk,
)
from regard.interop.families.rope import read_rotary_by_kind
from regard.interop.folder import Weights
from regard.interop.settings import LENGTH, Settings
from regard.interop.table import PLUS_ONE, Table
from regard.models.gpt import GPT
from regard.parts.attention import Full, Window
from regard.parts.softcap import Softcap
from regard.parts.wiring import Sandwich

NORMS = ("attend_norm", "attend_end", "feed_norm", "feed_end", "attend.query_norm", "attend.key_norm", "norm")
SANDWICH = LAYER | {
    "attend_end": "post_attention_layernorm",
    "feed_norm": "pre_feedforward_layernorm",
    "feed_end": "post_feedforward_layernorm",
}


def gemma(file: Settings, weights: Weights, architecture: str) -> GPT:
    file.only("use_bidirectional_attention", False, None)
    word = "hidden_activation" if file.data.get("hidden_activation") is not None else "hidden_act"
    file.read_keys |= {"hidden_activation", "hidden_act"}  # the first files name another than they mean
    return GPT(**_shared(file, word) | biased(file))


def _shared(file: Settings, act: str) -> dict[str, Any]:
    shared = trunk(file, act=act)
    return shared | {"embed_scale": shared["width"] ** 0.5}


def _later(file: Settings, slides: Callable[[int], bool]) -> tuple[dict[str, Any], list[str]]:
    """What Gemma 2 and 3 have in common, and the kinds of their layers."""
    file.only("use_bidirectional_attention", False, None)
    file.read_keys |= {"hidden_act", "_sliding_window_pattern"}  # older files name another activation than they mean
    shared = _shared(file, "hidden_activation") | biased(file)
    scale = file.number("query_pre_attn_scalar", 256, low=1e-3, high=1e9) ** -0.5
    cap = _cap(file, "attn_logit_softcapping")
    kinds = layer_kinds(file, shared["layers"], slides)

    def make(reach: int | None) -> Full | Window:
        return Full(scale, cap) if reach is None else Window(reach, scale, cap)

    attention = attention_by_layer(kinds, file.optional_integer("sliding_window", LENGTH), make)
    end = {"logit_softcap": _cap(file, "final_logit_softcapping"), "wiring": Sandwich()}
    return shared | attention | end, kinds


def _cap(file: Settings, key: str) -> Softcap | None:
    stated = file.data.get(key) is not None
    file.read_keys.add(key)
    return Softcap(file.number(key, None, low=1e-3, high=1e6)) if stated else None


def gemma2(file: Settings, weights: Weights, architecture: str) -> GPT:
    return GPT(**_later(file, lambda layer: layer % 2 == 0)[0])


def gemma3(file: Settings, weights: Weights, architecture: str) -> GPT:
    pattern = next((key for key in ("sliding_window_pattern", "_sliding_window_pattern") if key in file.data), "")
    every = file.integer(pattern, 6, LENGTH)
    rope = file.data.get("rope_parameters"), file.data.get("rope_scaling")
    file.data = dict(file.data) | {"rope_parameters": None, "rope_scaling": None}  # which `trunk` would read as one
    shared, kinds = _later(file, lambda layer: bool((layer + 1) % every))
    file.data = dict(file.data) | {"rope_parameters": rope[0], "rope_scaling": rope[1]}
    bases = {FULL: ("rope_theta", 1e6), SLIDING: ("rope_local_base_freq", 1e4)}
    rotary = read_rotary_by_kind(file, length_of(file), bases)
    main, other = (SLIDING, FULL) if SLIDING in kinds else (FULL, SLIDING)
    positions = {"position": rotary[main]} | ({"alternate_position": rotary[other]} if len(set(kinds)) > 1 else {})
    return GPT(**shared | positions | {"query_norm": shared["norm"]})


def table(config: GPT) -> Table:
    names = SANDWICH if isinstance(config.wiring, Sandwich) else LAYER
    return table_of(names, changes=dict.fromkeys(NORMS, PLUS_ONE))


FAMILIES = (
    causal(
        "gemma", "Gemma", gemma, table, vocab_size=256000, hidden_size=3072, intermediate_size=24576,
        num_hidden_layers=28, num_attention_heads=16, num_key_value_heads=16, head_dim=256, tie_word_embeddings=True,
        hidden_act="gelu_pytorch_tanh", max_position_embeddings=8192,
    ),
    causal(
        "gemma2", "Gemma2", gemma2, table, vocab_size=256000, hidden_size=2304, intermediate_size=9216,
        num_hidden_layers=26, num_attention_heads=8, num_key_value_heads=4, head_dim=256, tie_word_embeddings=True,
        hidden_activation="gelu_pytorch_tanh", max_position_embeddings=8192, sliding_window=4096,
        final_logit_softcapping=30.0, attn_logit_softcapping=50.0,
    ),
    causal(
        "gemma3_text", "Gemma3", gemma3, table, vocab_size=262208, hidden_size=2304, intermediate_size=9216,
        num_hidden_layers=26, num_attention_heads=8, num_key_value_heads=4, head_dim=256, tie_word_embeddings=True,
        hidden_activation="gelu_pytorch_tanh", max_position_embeddings=131072, sliding_window=4096,
    ),
)  # fmt: skip
