"""Cohere, Helium and ERNIE 4.5: rotary positions turn neighbours; Cohere's branches stand side by side."""

from regard.interop.families.decoder import LAYER, attention_by_layer, biased, causal, layer_kinds, table_of, trunk
from regard.interop.families.partly_rotary import neighbours
from regard.interop.folder import Weights
from regard.interop.settings import LENGTH, Settings
from regard.interop.table import Table
from regard.models.gpt import GPT
from regard.parts.norms import LayerNorm
from regard.parts.positions import NoPosition
from regard.parts.wiring import SharedNorm


def cohere(file: Settings, weights: Weights, architecture: str) -> GPT:
    file.only("use_qk_norm", False)
    own = {
        "norm": LayerNorm(file.eps("layer_norm_eps", 1e-5), bias=False),
        "wiring": SharedNorm(),
        "logit_scale": file.number("logit_scale", 0.0625, low=1e-9, high=1e9),
    }
    return GPT(**trunk(file) | {"query_bias": file.flag("attention_bias", False)} | own)


def cohere2(file: Settings, weights: Weights, architecture: str) -> GPT:
    """Layers with full attention have no positions."""
    model = cohere(file, weights, architecture)
    every = file.integer("sliding_window_pattern", 4, LENGTH)
    file.read_keys.add("_sliding_window_pattern")
    kinds = layer_kinds(file, model.layers, lambda layer: bool((layer + 1) % every))
    attention = attention_by_layer(kinds, file.optional_integer("sliding_window", LENGTH))
    if "alternate" in attention:
        attention["alternate_position"] = NoPosition()
    return GPT(**{name: value for name, value in vars(model).items() if name not in attention} | attention)


def turned_as_neighbours(file: Settings, weights: Weights, architecture: str) -> GPT:
    return GPT(**trunk(file) | biased(file))


def ernie(file: Settings, weights: Weights, architecture: str) -> GPT:
    bias = file.flag("use_bias", False)
    return GPT(**trunk(file) | {"bias": bias})


def table(config: GPT) -> Table:
    return table_of(LAYER, changes=neighbours(config))


FAMILIES = (
    causal(
        "cohere", "Cohere", cohere, table, vocab_size=256000, hidden_size=8192, intermediate_size=22528,
        num_hidden_layers=40, num_attention_heads=64, max_position_embeddings=8192, tie_word_embeddings=True,
        rope_theta=500000.0,
    ),
    causal(
        "cohere2", "Cohere2", cohere2, table, vocab_size=256000, hidden_size=8192, intermediate_size=22528,
        num_hidden_layers=40, num_attention_heads=64, max_position_embeddings=8192, tie_word_embeddings=True,
        sliding_window=4096,
    ),
    causal(
        "helium", "Helium", turned_as_neighbours, table, vocab_size=48000, hidden_size=2560, intermediate_size=7040,
        num_hidden_layers=24, num_attention_heads=20, num_key_value_heads=20, head_dim=128, rms_norm_eps=1e-8,
        max_position_embeddings=4096, rope_theta=100000.0,
    ),
    causal(
        "ernie4_5", "Ernie4_5", ernie, table, vocab_size=103424, hidden_size=1024, intermediate_size=3072,
        num_hidden_layers=18, num_attention_heads=16, num_key_value_heads=2, head_dim=128, rms_norm_eps=1e-5,
        max_position_embeddings=131072, tie_word_embeddings=True, rope_theta=500000.0,
    ),
)  # fmt: skip
