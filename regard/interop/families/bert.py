"""BERT: learned positions, post-norm, and a head that fills words or names a label (Devlin et al., 2019)."""

from typing import Any

from regard.core.errors import ConfigError
from regard.interop.family import PLAIN, Family, activation, expect, expect_biases, expect_plain_heads, hidden
from regard.interop.folder import Weights
from regard.interop.settings import HEADS, HIDDEN, LAYERS, LENGTH, VOCAB, WIDTH, Settings
from regard.interop.table import Row, Table, both
from regard.models.bert import BERT, ClassifierHead, Head, MaskedLMHead, NoHead
from regard.parts.feed import GELU
from regard.parts.norms import LayerNorm
from regard.parts.positions import Learned
from regard.parts.wiring import PostNorm

FILL, LABEL, PLAIN_TRUNK = "BertForMaskedLM", "BertForSequenceClassification", "BertModel"


def config(file: Settings, weights: Weights, architecture: str) -> BERT:
    file.only("position_embedding_type", "absolute", None)
    file.only("tie_word_embeddings", True)
    feed = file.choice("hidden_act", PLAIN, "gelu")
    head = _head(file, architecture)
    if isinstance(head, MaskedLMHead) and feed is not GELU:
        raise file.error("hidden_act", file.data["hidden_act"], "bends the head too, and ours fills words with gelu")
    return BERT(
        vocab=file.integer("vocab_size", 30522, VOCAB),
        width=file.integer("hidden_size", 768, WIDTH),
        layers=file.integer("num_hidden_layers", 12, LAYERS),
        heads=file.integer("num_attention_heads", 12, HEADS),
        segments=file.integer("type_vocab_size", 2, VOCAB),
        position=Learned(file.integer("max_position_embeddings", 512, LENGTH)),
        feed=feed(file.integer("intermediate_size", 3072, HIDDEN)),
        norm=LayerNorm(file.eps("layer_norm_eps", 1e-12)),
        dropout=file.dropout("hidden_dropout_prob", 0.1),
        head=head,
    )


def _head(file: Settings, architecture: str) -> Head:
    if architecture == LABEL:
        return ClassifierHead(len(file.labels()))
    return NoHead() if architecture == PLAIN_TRUNK else MaskedLMHead()


def table(config: BERT) -> Table:
    theirs, ours = "bert.encoder.layer.{}", "encoder.{}"
    return Table(
        rows=[
            Row("bert.embeddings.word_embeddings.weight", ("embedding.table.weight",)),
            Row("bert.embeddings.position_embeddings.weight", ("encoder.position.table.weight",)),
            Row("bert.embeddings.token_type_embeddings.weight", ("segment.weight",)),
            *both("bert.embeddings.LayerNorm", "norm"),
            *both(f"{theirs}.attention.self.query", f"{ours}.attend.query"),
            *both(f"{theirs}.attention.self.key", f"{ours}.attend.key"),
            *both(f"{theirs}.attention.self.value", f"{ours}.attend.value"),
            *both(f"{theirs}.attention.output.dense", f"{ours}.attend.out"),
            *both(f"{theirs}.attention.output.LayerNorm", f"{ours}.attend_norm"),
            *both(f"{theirs}.intermediate.dense", f"{ours}.feed.up"),
            *both(f"{theirs}.output.dense", f"{ours}.feed.down"),
            *both(f"{theirs}.output.LayerNorm", f"{ours}.feed_norm"),
            *both("cls.predictions.transform.dense", "head.dense"),
            *both("cls.predictions.transform.LayerNorm", "head.norm"),
            Row("cls.predictions.bias", ("embedding.head_bias",)),
            *both("bert.pooler.dense", "head.pool"),
            *both("classifier", "head.label"),
        ],
        tied={
            "cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
            "cls.predictions.decoder.bias": "cls.predictions.bias",
        },
        buffers=("bert.embeddings.position_ids", "bert.embeddings.token_type_ids"),
        # The first token's head, which bert-base carries along from its training on pairs of sentences.
        unused=tuple(
            f"{name}.{k}" for name in ("bert.pooler.dense", "cls.seq_relationship") for k in ("weight", "bias")
        ),
    )


def older(name: str) -> str:
    """The names that the first files, turned over from TensorFlow, still have."""
    return name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")


def settings(config: BERT) -> dict[str, Any]:
    expect(config, "BERT", {"position": Learned, "norm": LayerNorm, "wiring": PostNorm})
    expect_plain_heads(config, "BERT")
    expect_biases(config, "BERT", query=True, out=True, feed=True)
    word = activation(config.feed, PLAIN, "BERT")
    if isinstance(config.head, MaskedLMHead) and not isinstance(config.feed, GELU):
        raise ConfigError(
            f"feed: {config.feed} would also be the activation of the head in a Hugging Face BERT folder; use GELU"
        )
    if isinstance(config.head, NoHead):
        raise ConfigError("head: NoHead cannot be stored in a Hugging Face BERT folder, whose trunk ends with a pooler")
    if isinstance(config.head, ClassifierHead) and config.head.pooling != "first":
        raise ConfigError(
            "head.pooling: a Hugging Face BERT folder reads labels from the first token; train with first"
        )
    assert isinstance(config.position, Learned)
    assert isinstance(config.norm, LayerNorm)
    return {
        "architectures": [FILL if isinstance(config.head, MaskedLMHead) else LABEL],
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


FAMILY = Family(
    model_type="bert",
    architectures=(FILL, LABEL, PLAIN_TRUNK, "BertForPreTraining"),
    config=config,
    table=table,
    length="max_position_embeddings",
    prefix="bert.",
    heads=("cls.", "classifier."),
    rename=older,
    settings=settings,
)
