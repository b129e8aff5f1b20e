"""Mistral, Qwen 2 and Qwen 3: Llama with a sliding window, biases of queries, keys and values, norms of both."""

from dataclasses import replace

from regard.interop.families.decoder import attention_by_layer, causal, layer_kinds, trunk
from regard.interop.folder import Weights
from regard.interop.settings import LAYERS, LENGTH, Settings
from regard.models.gpt import GPT
from regard.parts.norms import RMSNorm


def mistral(file: Settings, weights: Weights, architecture: str) -> GPT:
    shared = trunk(file)
    window = file.optional_integer("sliding_window", LENGTH)
    return GPT(**shared | attention_by_layer(layer_kinds(file, shared["layers"], lambda layer: True), window))


def qwen2(file: Settings, weights: Weights, architecture: str) -> GPT:
    shared = trunk(file)
    window = file.optional_integer("sliding_window", LENGTH)
    if not file.flag("use_sliding_window", False):
        window = None
    first = file.integer("max_window_layers", 28, LAYERS, low=0)
    kinds = layer_kinds(file, shared["layers"], lambda layer: layer >= first)
    return GPT(**shared | {"query_bias": True} | attention_by_layer(kinds, window))


def qwen3(file: Settings, weights: Weights, architecture: str) -> GPT:
    return replace(
        qwen2(file, weights, architecture),
        query_norm=RMSNorm(file.eps("rms_norm_eps", 1e-6)),
        query_bias=None,
        bias=(bias := file.flag("attention_bias", False)),
        feed_bias=False if bias else None,
    )


FAMILIES = (
    causal(
        "mistral", "Mistral", mistral, intermediate_size=14336, num_key_value_heads=8, sliding_window=4096,
        max_position_embeddings=131072,
    ),
    causal(
        "qwen2", "Qwen2", qwen2, vocab_size=151936, intermediate_size=22016, max_position_embeddings=32768,
        num_key_value_heads=32, sliding_window=4096,
    ),
    causal(
        "qwen3", "Qwen3", qwen3, vocab_size=151936, intermediate_size=22016, max_position_embeddings=32768,
        num_key_value_heads=32, head_dim=128, sliding_window=4096,
    ),
)  # fmt: skip
