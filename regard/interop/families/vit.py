"""Vision Transformer: patches by a convolution, a class token, learned positions (Dosovitskiy et al., 2021)."""

from typing import Any

from regard.core.errors import ConfigError
from regard.interop.family import PLAIN, Family, activation, biases, expect, expect_biases, expect_plain_heads, hidden
from regard.interop.folder import Weights
from regard.interop.settings import HEADS, HIDDEN, LAYERS, WIDTH, Settings
from regard.interop.table import FIRST, Row, Table, both, patches
from regard.models.vit import ViT
from regard.parts.norms import LayerNorm
from regard.parts.pool import ClassToken
from regard.parts.positions import Learned
from regard.parts.stem import NoStem
from regard.parts.wiring import PreNorm

PIXELS, CHANNELS = 2**14, 2**10


def config(file: Settings, weights: Weights, architecture: str) -> ViT:
    feed = file.choice("hidden_act", PLAIN, "gelu")
    return ViT(
        labels=len(file.labels()),
        image=_side(file, "image_size", 224),
        patch=_side(file, "patch_size", 16),
        channels=file.integer("num_channels", 3, CHANNELS),
        width=file.integer("hidden_size", 768, WIDTH),
        layers=file.integer("num_hidden_layers", 12, LAYERS),
        heads=file.integer("num_attention_heads", 12, HEADS),
        feed=feed(file.integer("intermediate_size", 3072, HIDDEN)),
        norm=LayerNorm(file.eps("layer_norm_eps", 1e-12)),
        dropout=file.dropout("hidden_dropout_prob", 0.0),
        query_bias=None if file.flag("qkv_bias", True) else False,
    )


def _side(file: Settings, key: str, default: int) -> int:
    """Pixels along a side, which some files give twice."""
    sides = file.data.get(key)
    if isinstance(sides, list):
        if len(sides) != 2 or sides[0] != sides[1]:
            raise file.error(key, sides, "is not square, as our patches are")
        return Settings({key: sides[0]}, file.where).integer(key, default, PIXELS)
    return file.integer(key, default, PIXELS)


def table(config: ViT) -> Table:
    theirs, ours = "vit.encoder.layer.{}", "encoder.{}"
    projection = "vit.embeddings.patch_embeddings.projection"
    return Table(
        rows=[
            Row("vit.embeddings.cls_token", ("pool.token",)),
            Row("vit.embeddings.position_embeddings", ("encoder.position.table.weight",), FIRST),
            Row(f"{projection}.weight", ("patches.project.weight",), patches(config.channels, config.patch)),
            Row(f"{projection}.bias", ("patches.project.bias",)),
            *both(f"{theirs}.layernorm_before", f"{ours}.attend_norm"),
            *both(f"{theirs}.attention.attention.query", f"{ours}.attend.query"),
            *both(f"{theirs}.attention.attention.key", f"{ours}.attend.key"),
            *both(f"{theirs}.attention.attention.value", f"{ours}.attend.value"),
            *both(f"{theirs}.attention.output.dense", f"{ours}.attend.out"),
            *both(f"{theirs}.layernorm_after", f"{ours}.feed_norm"),
            *both(f"{theirs}.intermediate.dense", f"{ours}.feed.up"),
            *both(f"{theirs}.output.dense", f"{ours}.feed.down"),
            *both("vit.layernorm", "encoder.norm"),
            *both("classifier", "label"),
        ],
        unused=("vit.pooler.dense.weight", "vit.pooler.dense.bias"),  # their labels are not read from it
    )


def settings(config: ViT) -> dict[str, Any]:
    expect(
        config,
        "ViT",
        {"norm": LayerNorm, "wiring": PreNorm, "pool": ClassToken, "stem": NoStem, "embedding_skip": None},
    )
    if config.pool != ClassToken():
        raise ConfigError(f"pool: {config.pool} cannot be stored in a Hugging Face ViT folder; use ClassToken()")
    places = (config.image // config.patch) ** 2 + 1
    if config.position is not None and config.position != Learned(places):
        raise ConfigError(
            f"position: {config.position} cannot be stored in a Hugging Face ViT folder; use Learned({places})"
        )
    expect_plain_heads(config, "ViT")
    query_bias, _, _ = biases(config)
    expect_biases(config, "ViT", query=query_bias, out=True, feed=True)
    word = activation(config.feed, PLAIN, "ViT")
    assert isinstance(config.norm, LayerNorm)
    return {
        "image_size": config.image,
        "patch_size": config.patch,
        "num_channels": config.channels,
        "hidden_size": config.width,
        "num_hidden_layers": config.layers,
        "num_attention_heads": config.heads,
        "intermediate_size": hidden(config.feed, config.width),
        "hidden_act": word,
        "layer_norm_eps": config.norm.eps,
        "hidden_dropout_prob": config.dropout,
        "attention_probs_dropout_prob": 0.0,
        "qkv_bias": query_bias,
    }


FAMILY = Family(
    model_type="vit",
    architectures=("ViTForImageClassification",),
    config=config,
    table=table,
    prefix="vit.",
    heads=("classifier.",),
    settings=settings,
)
