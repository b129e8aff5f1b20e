"""T5 and mT5: bucketed distances instead of positions, unscaled scores, RMS norms, no biases (Raffel et al., 2020)."""

from dataclasses import replace
from typing import Any

from regard.interop.family import Family
from regard.interop.folder import Weights
from regard.interop.settings import HEADS, HIDDEN, LAYERS, LENGTH, VOCAB, WIDTH, Settings
from regard.interop.table import Row, Table, both
from regard.models.transformer import Transformer
from regard.parts.attention import Full
from regard.parts.feed import GELU, GeGLU, ReLU, SiLU, SwiGLU
from regard.parts.norms import RMSNorm
from regard.parts.positions import T5Bias

# What feed_forward_proj says, our part, and the word that newer files add. "gated-gelu" means the tanh formula.
FEEDS: dict[str, tuple[type[Any], str]] = {
    "relu": (ReLU, "relu"),
    "gelu": (GELU, "gelu"),
    "silu": (SiLU, "silu"),
    "gated-gelu": (GeGLU, "gelu_new"),
    "gated-silu": (SwiGLU, "silu"),
}
SHARED, HEAD = "shared.weight", "lm_head.weight"


def config(file: Settings, weights: Weights, architecture: str) -> Transformer:
    file.only("is_encoder_decoder", True)
    feed, activation = file.choice("feed_forward_proj", FEEDS, "relu")
    file.only("dense_act_fn", activation)
    file.only("is_gated_act", feed in (GeGLU, SwiGLU))
    width = file.integer("d_model", 512, WIDTH)
    layers = file.integer("num_layers", 6, LAYERS)
    buckets = file.integer("relative_attention_num_buckets", 32, LENGTH, low=4)
    # From version 5 on, transformers always writes that the head is tied: only the weights know.
    scaled = file.flag("scale_decoder_outputs", file.flag("tie_word_embeddings", True))
    tied = HEAD not in weights or (SHARED in weights and weights.same(HEAD, SHARED))
    return Transformer(
        vocab=file.integer("vocab_size", 32128, VOCAB),
        width=width,
        layers=layers,
        decoder_layers=file.optional_integer("num_decoder_layers", LAYERS) or layers,
        heads=file.integer("num_heads", 8, HEADS),
        head_size=file.integer("d_kv", 64, WIDTH),
        attention=Full(scale=1.0),
        position=T5Bias(buckets, file.integer("relative_attention_max_distance", 128, LENGTH, low=buckets // 2 + 1)),
        feed=feed(file.integer("d_ff", 2048, HIDDEN)),
        norm=RMSNorm(file.eps("layer_norm_epsilon", 1e-6)),
        dropout=file.dropout("dropout_rate", 0.1),
        bias=False,
        embed_scale=1.0,
        logit_scale=width**-0.5 if scaled else 1.0,
        tied=tied,
    )


def table(config: Transformer) -> Table:
    sides = [
        ("encoder", 0, "SelfAttention", "attend"),
        ("decoder", 0, "SelfAttention", "attend"),
        ("decoder", 1, "EncDecAttention", "cross"),
    ]
    gated = isinstance(config.feed, GeGLU | SwiGLU)
    return Table(
        rows=[
            Row(SHARED, ("embedding.table.weight",)),
            Row(HEAD, ("embedding.head",)),
            *(row for side in sides for row in _attention(*side)),
            *(row for side, place in (("encoder", 1), ("decoder", 2)) for row in _feed(side, place, gated)),
            *(row for side in ("encoder", "decoder") for row in _side(side)),
        ],
        tied=dict.fromkeys(("encoder.embed_tokens.weight", "decoder.embed_tokens.weight", HEAD), SHARED),
        # The first files carry a bias for looking at the source, which no code has ever used.
        buffers=("decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight",),
    )


def _attention(side: str, place: int, theirs: str, ours: str) -> list[Row]:
    layer, block = f"{side}.block.{{}}.layer.{place}", f"{side}.{{}}"
    names = {"q": "query", "k": "key", "v": "value", "o": "out"}
    rows = [row for name, part in names.items() for row in both(f"{layer}.{theirs}.{name}", f"{block}.{ours}.{part}")]
    return rows + both(f"{layer}.layer_norm", f"{block}.{ours}_norm")


def _feed(side: str, place: int, gated: bool) -> list[Row]:
    layer, block = f"{side}.block.{{}}.layer.{place}", f"{side}.{{}}"
    up = {"wi_0": "gate", "wi_1": "up", "wo": "down"} if gated else {"wi": "up", "wo": "down"}
    rows = [row for name, part in up.items() for row in both(f"{layer}.DenseReluDense.{name}", f"{block}.feed.{part}")]
    return rows + both(f"{layer}.layer_norm", f"{block}.feed_norm")


def _side(side: str) -> list[Row]:
    distances = f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
    return [Row(distances, (f"{side}.position.table.weight",)), *both(f"{side}.final_layer_norm", f"{side}.norm")]


FAMILY = Family(
    model_type="t5",
    architectures=("T5ForConditionalGeneration", "T5WithLMHeadModel"),
    config=config,
    table=table,
)
FAMILIES = (
    FAMILY,
    replace(
        FAMILY,
        model_type="mt5",
        architectures=("MT5ForConditionalGeneration",),
        defaults={
            "vocab_size": 250112, "d_ff": 1024, "num_layers": 8, "num_heads": 6, "feed_forward_proj": "gated-gelu",
            "scale_decoder_outputs": False,
        },
    ),
)  # fmt: skip
