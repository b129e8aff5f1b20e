"""GPT-2: learned positions, pre-norm, every matrix stored the other way round (Radford et al., 2019)."""

from dataclasses import replace
from typing import Any

from regard.interop.family import PLAIN, Family, activation, expect, expect_biases, expect_plain_heads, hidden
from regard.interop.folder import Weights
from regard.interop.settings import HEADS, HIDDEN, LAYERS, LENGTH, VOCAB, WIDTH, Settings
from regard.interop.table import FLIP, FLIP_FUSED, FUSED, Row, Table, both
from regard.models.gpt import GPT
from regard.parts.attention import Full
from regard.parts.norms import LayerNorm
from regard.parts.positions import Learned
from regard.parts.wiring import PreNorm


def config(file: Settings, weights: Weights, architecture: str) -> GPT:
    file.only("scale_attn_by_inverse_layer_idx", False)
    width = file.integer("n_embd", 768, WIDTH)
    feed = file.choice("activation_function", PLAIN, "gelu_new")
    return GPT(
        vocab=file.integer("vocab_size", 50257, VOCAB),
        width=width,
        layers=file.integer("n_layer", 12, LAYERS),
        heads=file.integer("n_head", 12, HEADS),
        attention=Full() if file.flag("scale_attn_weights", True) else Full(scale=1.0),
        position=Learned(file.integer("n_positions", 1024, LENGTH)),
        feed=feed(file.optional_integer("n_inner", HIDDEN) or 4 * width),
        norm=LayerNorm(file.eps("layer_norm_epsilon", 1e-5)),
        dropout=file.dropout("embd_pdrop", 0.1),
        tied=file.flag("tie_word_embeddings", True),
    )


def table(config: GPT) -> Table:
    theirs, ours = "transformer.h.{}", "decoder.{}"
    heads = tuple(f"{ours}.attend.{part}" for part in ("query", "key", "value"))
    return Table(
        rows=[
            Row("transformer.wte.weight", ("embedding.table.weight",)),
            Row("transformer.wpe.weight", ("decoder.position.table.weight",)),
            *both(f"{theirs}.ln_1", f"{ours}.attend_norm"),
            Row(f"{theirs}.attn.c_attn.weight", tuple(f"{name}.weight" for name in heads), FLIP_FUSED),
            Row(f"{theirs}.attn.c_attn.bias", tuple(f"{name}.bias" for name in heads), FUSED),
            *_flipped(f"{theirs}.attn.c_proj", f"{ours}.attend.out"),
            *both(f"{theirs}.ln_2", f"{ours}.feed_norm"),
            *_flipped(f"{theirs}.mlp.c_fc", f"{ours}.feed.up"),
            *_flipped(f"{theirs}.mlp.c_proj", f"{ours}.feed.down"),
            *both("transformer.ln_f", "decoder.norm"),
            Row("lm_head.weight", ("embedding.head",)),
        ],
        tied={"lm_head.weight": "transformer.wte.weight"},
        buffers=(f"{theirs}.attn.bias", f"{theirs}.attn.masked_bias"),  # the causal mask
    )


def _flipped(theirs: str, ours: str) -> list[Row]:
    return [Row(f"{theirs}.weight", (f"{ours}.weight",), FLIP), Row(f"{theirs}.bias", (f"{ours}.bias",))]


def settings(config: GPT) -> dict[str, Any]:
    expect(config, "GPT-2", {"position": Learned, "norm": LayerNorm, "wiring": PreNorm, "attention": Full})
    unscaled = isinstance(config.attention, Full) and config.attention.scale == 1.0
    expect_plain_heads(replace(config, attention=Full()) if unscaled else config, "GPT-2")
    expect_biases(config, "GPT-2", query=True, out=True, feed=True)
    word = activation(config.feed, PLAIN, "GPT-2")
    assert isinstance(config.position, Learned)
    assert isinstance(config.norm, LayerNorm)
    return {
        "vocab_size": config.vocab,
        "n_embd": config.width,
        "n_layer": config.layers,
        "n_head": config.heads,
        "n_positions": config.position.length,
        "n_inner": hidden(config.feed, config.width),
        "activation_function": word,
        "layer_norm_epsilon": config.norm.eps,
        "scale_attn_weights": not unscaled,
        "embd_pdrop": config.dropout,
        "resid_pdrop": config.dropout,
        "attn_pdrop": 0.0,
        "tie_word_embeddings": config.tied,
    }


FAMILY = Family(
    model_type="gpt2",
    architectures=("GPT2LMHeadModel", "GPT2Model"),
    config=config,
    table=table,
    length="n_positions",
    prefix="transformer.",
    heads=("lm_head.",),
    settings=settings,
)
