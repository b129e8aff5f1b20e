"""Granite, SmolLM3, Starcoder 2, Arcee, Seed-OSS: Llama with multipliers, layers without positions, or other parts."""

from typing import Any

from regard.interop.families.decoder import LAYER, attention_by_layer, biased, causal, layer_kinds, table_of, trunk
from regard.interop.family import PLAIN
from regard.interop.folder import Weights
from regard.interop.settings import LAYERS, LENGTH, Settings
from regard.interop.table import Table
from regard.models.gpt import GPT
from regard.parts.attention import Full
from regard.parts.norms import LayerNorm
from regard.parts.positions import NoPosition


def granite(file: Settings, weights: Weights, architecture: str) -> GPT:
    def multiplier(key: str) -> float:
        return file.number(key, 1.0, low=1e-9, high=1e9)

    return GPT(
        **trunk(file)
        | biased(file)
        | {
            "attention": Full(multiplier("attention_multiplier")),
            "embed_scale": multiplier("embedding_multiplier"),
            "residual_scale": multiplier("residual_multiplier"),
            "logit_scale": 1 / multiplier("logits_scaling"),
        }
    )


def smollm3(file: Settings, weights: Weights, architecture: str) -> GPT:
    file.only("use_sliding_window", False)
    file.read_keys |= {"sliding_window", "layer_types"}
    shared = trunk(file)
    every = file.integer("no_rope_layer_interval", 4, LAYERS)
    turning = file.data.get("no_rope_layers")  # which has a 1 for a layer with rotary positions
    file.read_keys.add("no_rope_layers")
    if turning is None:
        turning = [int(bool((layer + 1) % every)) for layer in range(shared["layers"])]
    if not isinstance(turning, list) or len(turning) != shared["layers"] or not set(turning) <= {0, 1}:
        raise file.error("no_rope_layers", turning, f"must have 0 or 1 for each of {shared['layers']} layers")
    still = tuple(layer for layer, turns in enumerate(turning) if not turns)
    without: dict[str, Any] = {"alternate_position": NoPosition(), "alternate_layers": still} if still else {}
    return GPT(**shared | biased(file) | without)


def starcoder2(file: Settings, weights: Weights, architecture: str) -> GPT:
    shared = trunk(file, feeds=PLAIN)
    kinds = layer_kinds(file, shared["layers"], lambda layer: True)
    attention = attention_by_layer(kinds, file.optional_integer("sliding_window", LENGTH))
    norm = LayerNorm(file.eps("norm_epsilon", 1e-5))
    return GPT(**shared | attention | {"norm": norm, "bias": file.flag("use_bias", True)})


def starcoder2_table(config: GPT) -> Table:
    return table_of(LAYER | {"feed.up": "mlp.c_fc", "feed.down": "mlp.c_proj"})


def arcee(file: Settings, weights: Weights, architecture: str) -> GPT:
    return GPT(**trunk(file, feeds=PLAIN) | biased(file))


def seed_oss(file: Settings, weights: Weights, architecture: str) -> GPT:
    out, feed = file.flag("attention_out_bias", False), file.flag("mlp_bias", False)
    return GPT(**trunk(file) | {"query_bias": file.flag("attention_bias", True), "bias": out, "feed_bias": feed})


FAMILIES = (
    causal("granite", "Granite", granite),
    causal(
        "smollm3", "SmolLM3", smollm3, vocab_size=128256, hidden_size=2048, num_hidden_layers=36, rope_theta=2e6,
        num_attention_heads=16, num_key_value_heads=4, max_position_embeddings=32768, tie_word_embeddings=True,
    ),
    causal(
        "starcoder2", "Starcoder2", starcoder2, starcoder2_table, vocab_size=49152, hidden_size=3072,
        intermediate_size=12288, num_hidden_layers=30, num_attention_heads=24, num_key_value_heads=2,
        hidden_act="gelu_pytorch_tanh", max_position_embeddings=4096, tie_word_embeddings=True,
    ),
    causal(
        "arcee", "Arcee", arcee, hidden_size=2560, intermediate_size=18432, hidden_act="relu2", rms_norm_eps=1e-5,
        max_position_embeddings=4096,
    ),
    causal(
        "seed_oss", "SeedOss", seed_oss, vocab_size=155136, intermediate_size=27648, num_hidden_layers=64,
        num_attention_heads=80, num_key_value_heads=8, head_dim=128, max_position_embeddings=524288,
    ),
)  # fmt: skip
