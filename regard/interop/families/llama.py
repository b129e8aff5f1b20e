"""Llama: rotary positions, RMS norms, gated feed-forward, keys shared among heads (Touvron et al., 2023)."""

from typing import Any

from regard.interop.families.rope import read_rotary, write_rotary
from regard.interop.family import GATED, Family, activation, biases, expect, expect_biases, expect_plain_heads, hidden
from regard.interop.folder import Weights
from regard.interop.settings import HEADS, HIDDEN, LAYERS, LENGTH, VOCAB, WIDTH, Settings
from regard.interop.table import Row, Table, both
from regard.models.gpt import GPT
from regard.parts.norms import RMSNorm
from regard.parts.positions import Rotary
from regard.parts.wiring import PreNorm


def config(file: Settings, weights: Weights, architecture: str) -> GPT:
    file.only("sliding_window", None)
    file.only("use_sliding_window", False)
    heads = file.integer("num_attention_heads", 32, HEADS)
    feed = file.choice("hidden_act", GATED, "silu")
    length = file.integer("max_position_embeddings", 2048, LENGTH)
    attend_bias, feed_bias = file.flag("attention_bias", False), file.flag("mlp_bias", False)
    return GPT(
        vocab=file.integer("vocab_size", 32000, VOCAB),
        width=file.integer("hidden_size", 4096, WIDTH),
        layers=file.integer("num_hidden_layers", 32, LAYERS),
        heads=heads,
        kv_heads=file.optional_integer("num_key_value_heads", HEADS) or heads,
        head_size=file.optional_integer("head_dim", WIDTH),
        position=read_rotary(file, "rope_theta", length, turned=1.0),
        feed=feed(file.integer("intermediate_size", 11008, HIDDEN)),
        norm=RMSNorm(file.eps("rms_norm_eps", 1e-6)),
        dropout=0.0,
        bias=attend_bias,
        feed_bias=feed_bias if feed_bias != attend_bias else None,
        tied=file.flag("tie_word_embeddings", False),
    )


def table(config: GPT) -> Table:
    theirs, ours = "model.layers.{}", "decoder.{}"
    return Table(
        rows=[
            Row("model.embed_tokens.weight", ("embedding.table.weight",)),
            *both(f"{theirs}.input_layernorm", f"{ours}.attend_norm"),
            *both(f"{theirs}.self_attn.q_proj", f"{ours}.attend.query"),
            *both(f"{theirs}.self_attn.k_proj", f"{ours}.attend.key"),
            *both(f"{theirs}.self_attn.v_proj", f"{ours}.attend.value"),
            *both(f"{theirs}.self_attn.o_proj", f"{ours}.attend.out"),
            *both(f"{theirs}.post_attention_layernorm", f"{ours}.feed_norm"),
            *both(f"{theirs}.mlp.gate_proj", f"{ours}.feed.gate"),
            *both(f"{theirs}.mlp.up_proj", f"{ours}.feed.up"),
            *both(f"{theirs}.mlp.down_proj", f"{ours}.feed.down"),
            *both("model.norm", "decoder.norm"),
            Row("lm_head.weight", ("embedding.head",)),
        ],
        tied={"lm_head.weight": "model.embed_tokens.weight"},
        buffers=(f"{theirs}.self_attn.rotary_emb.inv_freq", "model.rotary_emb.inv_freq"),
    )


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
)
