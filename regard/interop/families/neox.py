"""GPT-NeoX: rotary positions, LayerNorm, attention and feed-forward side by side or in turn (Black et al., 2022)."""

from typing import Any

from regard.interop.families.rope import read_rotary, write_rotary
from regard.interop.family import PLAIN, Family, activation, biases, expect, expect_biases, expect_plain_heads, hidden
from regard.interop.folder import Weights
from regard.interop.settings import HEADS, HIDDEN, LAYERS, LENGTH, VOCAB, WIDTH, Settings
from regard.interop.table import Row, Table, both, fused_by_head
from regard.models.gpt import GPT
from regard.parts.norms import LayerNorm
from regard.parts.positions import Rotary
from regard.parts.wiring import Parallel, PreNorm


def config(file: Settings, weights: Weights, architecture: str) -> GPT:
    feed = file.choice("hidden_act", PLAIN, "gelu")
    length = file.integer("max_position_embeddings", 2048, LENGTH)
    attend_bias = file.flag("attention_bias", True)
    return GPT(
        vocab=file.integer("vocab_size", 50432, VOCAB),
        width=file.integer("hidden_size", 6144, WIDTH),
        layers=file.integer("num_hidden_layers", 44, LAYERS),
        heads=file.integer("num_attention_heads", 64, HEADS),
        position=read_rotary(file, "rotary_emb_base", length, turned=0.25),
        feed=feed(file.integer("intermediate_size", 24576, HIDDEN)),
        norm=LayerNorm(file.eps("layer_norm_eps", 1e-5)),
        wiring=Parallel() if file.flag("use_parallel_residual", True) else PreNorm(),
        dropout=file.dropout("hidden_dropout", 0.0),
        bias=attend_bias,
        feed_bias=None if attend_bias else True,
        tied=file.flag("tie_word_embeddings", False),
    )


def table(config: GPT) -> Table:
    theirs, ours = "gpt_neox.layers.{}", "decoder.{}"
    fused = fused_by_head(config.heads)
    heads = tuple(f"{ours}.attend.{part}" for part in ("query", "key", "value"))
    return Table(
        rows=[
            Row("gpt_neox.embed_in.weight", ("embedding.table.weight",)),
            *both(f"{theirs}.input_layernorm", f"{ours}.attend_norm"),
            Row(f"{theirs}.attention.query_key_value.weight", tuple(f"{name}.weight" for name in heads), fused),
            Row(f"{theirs}.attention.query_key_value.bias", tuple(f"{name}.bias" for name in heads), fused),
            *both(f"{theirs}.attention.dense", f"{ours}.attend.out"),
            *both(f"{theirs}.post_attention_layernorm", f"{ours}.feed_norm"),
            *both(f"{theirs}.mlp.dense_h_to_4h", f"{ours}.feed.up"),
            *both(f"{theirs}.mlp.dense_4h_to_h", f"{ours}.feed.down"),
            *both("gpt_neox.final_layer_norm", "decoder.norm"),
            Row("embed_out.weight", ("embedding.head",)),
        ],
        tied={"embed_out.weight": "gpt_neox.embed_in.weight"},
        buffers=tuple(f"{theirs}.attention.{name}" for name in ("bias", "masked_bias", "rotary_emb.inv_freq")),
    )


def settings(config: GPT) -> dict[str, Any]:
    expect(config, "GPT-NeoX", {"position": Rotary, "norm": LayerNorm, "wiring": PreNorm | Parallel})
    expect_plain_heads(config, "GPT-NeoX")
    query_bias, _, _ = biases(config)
    expect_biases(config, "GPT-NeoX", query=query_bias, out=query_bias, feed=True)
    word = activation(config.feed, PLAIN, "GPT-NeoX")
    assert isinstance(config.position, Rotary)
    assert isinstance(config.norm, LayerNorm)
    return {
        "vocab_size": config.vocab,
        "hidden_size": config.width,
        "num_hidden_layers": config.layers,
        "num_attention_heads": config.heads,
        "intermediate_size": hidden(config.feed, config.width),
        "hidden_act": word,
        "layer_norm_eps": config.norm.eps,
        "attention_bias": query_bias,
        "hidden_dropout": config.dropout,
        "use_parallel_residual": isinstance(config.wiring, Parallel),
        "rotary_pct": config.position.fraction,
        "tie_word_embeddings": config.tied,
    } | write_rotary(config.position, "rotary_emb_base", part_turns=True)


FAMILY = Family(
    model_type="gpt_neox",
    architectures=("GPTNeoXForCausalLM",),
    config=config,
    table=table,
    length="max_position_embeddings",
    prefix="gpt_neox.",
    heads=("embed_out.",),
    settings=settings,
)
