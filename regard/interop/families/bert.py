"""BERT, and ERNIE and BigBird in its names: learned positions, post-norm, and a head (Devlin et al., 2019)."""

from dataclasses import replace
from typing import Any

from regard.core.errors import ConfigError
from regard.interop.families.encoder import (
    ACTIVATIONS,
    BERT_FILL,
    FILL,
    LABEL,
    LAYER,
    POOLED,
    encoder,
    head_of,
    head_rows,
    layer_rows,
    table_of,
    trunk,
)
from regard.interop.family import PLAIN, activation, expect, expect_biases, expect_plain_heads, hidden
from regard.interop.folder import Weights
from regard.interop.settings import Settings
from regard.interop.table import Table
from regard.models.bert import BERT
from regard.models.heads import ClassifierHead, MaskedLMHead
from regard.parts.norms import LayerNorm
from regard.parts.positions import Learned
from regard.parts.wiring import PostNorm

UNUSED = ("pooler.dense", "pooler")  # the first token's, which bert-base carries from its training on pairs


def config(file: Settings, weights: Weights, architecture: str) -> BERT:
    file.only("tie_word_embeddings", True)
    return BERT(**trunk(file, head_of(file, architecture)))


def table(config: BERT) -> Table:
    return _table("bert.", config)


def _table(prefix: str, config: BERT) -> Table:
    pooled = {"pool": f"{prefix}pooler.dense", "label": "classifier"}
    whole = table_of(
        prefix,
        layer_rows(LAYER, f"{prefix}encoder.layer.{{}}"),
        head_rows(BERT_FILL, pooled, config),
        bias="cls.predictions.bias",
        decoder="cls.predictions.decoder",
        unused=UNUSED,
    )
    pairs = tuple(f"cls.seq_relationship.{kind}" for kind in ("weight", "bias"))
    return replace(whole, unused=(*whole.unused, *pairs))


def ernie(file: Settings, weights: Weights, architecture: str) -> BERT:
    file.only("use_task_id", False)
    file.read_keys.add("task_type_vocab_size")
    return config(file, weights, architecture)


def ernie_table(config: BERT) -> Table:
    return _table("ernie.", config)


def big_bird(file: Settings, weights: Weights, architecture: str) -> BERT:
    """Read with full attention, which its blocks are for texts up to (5 + 2 × num_random_blocks) × block_size."""
    file.only("rescale_embeddings", False)
    file.read_keys |= {"attention_type", "block_size", "num_random_blocks"}
    bias = {"query_bias": None if file.flag("use_bias", True) else False}
    label = file.choice("hidden_act", ACTIVATIONS, "gelu_new")
    return BERT(**trunk(file, head_of(file, architecture, label=label)) | bias)


def big_bird_table(config: BERT) -> Table:
    whole = _table("bert.", config)
    own = [row for row in whole.rows if not row.ours[0].startswith(("head.pool", "head.label"))]
    return replace(whole, rows=own + (head_rows({}, POOLED, config) if config.classifies_text else []))


def older(name: str) -> str:
    """The names that the first files, turned over from TensorFlow, still have."""
    return name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")


def settings(config: BERT) -> dict[str, Any]:
    expect(config, "BERT", {"position": Learned, "norm": LayerNorm, "wiring": PostNorm})
    expect_plain_heads(config, "BERT")
    if not config.segments:
        raise ConfigError("segments: 0 cannot be stored in a Hugging Face BERT folder; use 1 or more")
    expect_biases(config, "BERT", query=True, out=True, feed=True)
    word = activation(config.feed, PLAIN, "BERT")
    if isinstance(config.head, MaskedLMHead) and config.head != MaskedLMHead(ACTIVATIONS[word]):
        raise ConfigError(
            f"feed: {config.feed} would also be the activation of the head in a Hugging Face BERT folder; use GELU"
        )
    if not isinstance(config.head, MaskedLMHead | ClassifierHead):
        kind = type(config.head).__name__
        raise ConfigError(f"head: {kind} cannot be stored in a Hugging Face BERT folder; fine-tune it for labels first")
    if isinstance(config.head, ClassifierHead) and config.head != ClassifierHead(config.head.labels):
        raise ConfigError(
            "head.pooling: a Hugging Face BERT folder reads labels from the first token; train with first"
        )
    assert isinstance(config.position, Learned)
    assert isinstance(config.norm, LayerNorm)
    return {
        "architectures": [f"Bert{FILL if isinstance(config.head, MaskedLMHead) else LABEL}"],
        "vocab_size": config.vocab,
        "hidden_size": config.width,
        "num_hidden_layers": config.layers,
        "num_attention_heads": config.heads,
        "type_vocab_size": config.segments,
        "max_position_embeddings": config.position.length,
        "intermediate_size": hidden(config.feed, config.width),
        "hidden_act": word,
        "layer_norm_eps": config.norm.eps,
        "hidden_dropout_prob": config.dropout,
        "attention_probs_dropout_prob": 0.0,
        "tie_word_embeddings": True,
    }


FAMILY = replace(
    encoder(
        "bert", "Bert", config, table, prefix="bert.", more=("BertForPreTraining",), rename=older, vocab_size=30522
    ),
    settings=settings,
)
FAMILIES = (
    FAMILY,
    encoder(
        "ernie", "Ernie", ernie, ernie_table, prefix="ernie.", more=("ErnieForPreTraining",), rename=older,
        vocab_size=30522,
    ),
    encoder(
        "big_bird", "BigBird", big_bird, big_bird_table, prefix="bert.", more=("BigBirdForPreTraining",),
        vocab_size=50358, hidden_act="gelu_new", max_position_embeddings=4096,
    ),
)  # fmt: skip
