"""Llama: rotary positions, RMS norms, gated feed-forward, keys shared among heads (Touvron et al., 2023)."""

from typing import Any

from regard.interop.families.decoder import SIZES, biased, table_of, trunk
from regard.interop.families.rope import write_rotary
from regard.interop.family import GATED, Family, activation, biases, expect, expect_biases, expect_plain_heads, hidden
from regard.interop.folder import Weights
from regard.interop.settings import Settings
from regard.interop.table import Table
from regard.models.gpt import GPT
from regard.parts.norms import RMSNorm
from regard.parts.positions import Rotary
from regard.parts.wiring import PreNorm


def config(file: Settings, weights: Weights, architecture: str) -> GPT:
    file.only("sliding_window", None)
    file.only("use_sliding_window", False)
    return GPT(**trunk(file) | biased(file))


def table(config: GPT) -> Table:
    return table_of()


def settings(config: GPT) -> dict[str, Any]:
    expect(config, "Llama", {"position": Rotary, "norm": RMSNorm, "wiring": PreNorm})
    expect_plain_heads(config, "Llama", grouped=True)
    query_bias, _, feed_bias = biases(config)
    expect_biases(config, "Llama", query=query_bias, out=query_bias, feed=feed_bias)
    word = activation(config.feed, GATED, "Llama")
    assert isinstance(config.position, Rotary)
    assert isinstance(config.norm, RMSNorm)
    return {
        "vocab_size": config.vocab,
        "hidden_size": config.width,
        "num_hidden_layers": config.layers,
        "num_attention_heads": config.heads,
        "num_key_value_heads": config.kv_heads or config.heads,
        "head_dim": config.head_size or config.width // config.heads,
        "intermediate_size": hidden(config.feed, config.width),
        "hidden_act": word,
        "rms_norm_eps": config.norm.eps,
        "attention_bias": query_bias,
        "mlp_bias": feed_bias,
        "attention_dropout": 0.0,
        "tie_word_embeddings": config.tied,
    } | write_rotary(config.position, "rope_theta")


FAMILY = Family(
    model_type="llama",
    architectures=("LlamaForCausalLM",),
    config=config,
    table=table,
    length="max_position_embeddings",
    prefix="model.",
    heads=("lm_head.",),
    settings=settings,
    defaults=SIZES,
)
