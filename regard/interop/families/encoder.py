"""What encoders shaped like BERT share: keys of config.json, names of tensors, and the heads by architecture."""

from collections.abc import Callable, Mapping
from typing import Any

from regard.interop.family import PLAIN, Family
from regard.interop.folder import Weights
from regard.interop.settings import HEADS, HIDDEN, LAYERS, LENGTH, VOCAB, WIDTH, Settings
from regard.interop.table import SAME, Change, Row, Table, both
from regard.models.bert import BERT
from regard.models.heads import (
    ClassifierHead,
    Head,
    HeadActivation,
    MaskedLMHead,
    NoHead,
    SpanHead,
    TokenClassifierHead,
)
from regard.parts.norms import LayerNorm
from regard.parts.positions import Learned

FILL, LABEL, TAG, SPAN = "ForMaskedLM", "ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering"
HEADS_READ = (FILL, LABEL, TAG, SPAN, "Model")
ACTIVATIONS: dict[str, HeadActivation] = {
    "gelu": "gelu", "gelu_python": "gelu", "gelu_new": "tanh_gelu", "gelu_pytorch_tanh": "tanh_gelu",
    "gelu_fast": "tanh_gelu", "relu": "relu", "silu": "silu", "swish": "silu", "tanh": "tanh",
}  # fmt: skip

# Our name in a block: theirs in a layer.
LAYER = {
    "attend.query": "attention.self.query",
    "attend.key": "attention.self.key",
    "attend.value": "attention.self.value",
    "attend.out": "attention.output.dense",
    "attend_norm": "attention.output.LayerNorm",
    "feed.up": "intermediate.dense",
    "feed.down": "output.dense",
    "feed_norm": "output.LayerNorm",
}
BERT_FILL = {"dense": "cls.predictions.transform.dense", "norm": "cls.predictions.transform.LayerNorm"}
ROBERTA_FILL = {"dense": "lm_head.dense", "norm": "lm_head.layer_norm"}
POOLED = {"pool": "classifier.dense", "label": "classifier.out_proj"}  # a layer of the classifier's own


def head_of(
    file: Settings, architecture: str, fill: HeadActivation | None = None, label: HeadActivation = "tanh"
) -> Head:
    """The head that the end of the architecture's name means; `fill` None: the activation of the feed-forward."""
    if architecture.endswith(LABEL):
        return ClassifierHead(len(file.labels()), activation=label)
    if architecture.endswith(TAG):
        return TokenClassifierHead(len(file.labels()))
    if architecture.endswith(SPAN):
        return SpanHead()
    if architecture.endswith((FILL, "BertForPreTraining", "ErnieForPreTraining")):
        act = file.choice("hidden_act", ACTIVATIONS, "gelu")
        return MaskedLMHead(act if fill is None else fill)
    return NoHead()


def trunk(file: Settings, head: Head) -> dict[str, Any]:
    """The settings of our BERT that nearly all of them say alike."""
    file.only("position_embedding_type", "absolute", None)
    if isinstance(head, MaskedLMHead):
        file.only("tie_word_embeddings", True)
    file.read_keys.add("tie_word_embeddings")
    feed = file.choice("hidden_act", PLAIN, "gelu")
    file.read_keys |= {"cls_token_id", "sep_token_id", "mask_token_id", "classifier_dropout_prob"}
    return {
        "vocab": file.integer("vocab_size", None, VOCAB),
        "width": file.integer("hidden_size", 768, WIDTH),
        "layers": file.integer("num_hidden_layers", 12, LAYERS),
        "heads": file.integer("num_attention_heads", 12, HEADS),
        "segments": file.integer("type_vocab_size", 2, VOCAB, low=0),
        "position": Learned(file.integer("max_position_embeddings", 512, LENGTH)),
        "feed": feed(file.integer("intermediate_size", 3072, HIDDEN)),
        "norm": LayerNorm(file.eps("layer_norm_eps", 1e-12)),
        "dropout": file.dropout("hidden_dropout_prob", 0.1),
        "head": head,
    }


def layer_rows(
    names: Mapping[str, str], theirs: str, changes: Mapping[str, Change] | None = None, ours: str = "encoder.{}"
) -> list[Row]:
    return [
        row
        for part, name in names.items()
        for row in both(f"{theirs}.{name}", f"{ours}.{part}", (changes or {}).get(part, SAME))
    ]


def table_of(
    prefix: str,
    layer: list[Row],
    head: list[Row],
    *,
    positions: Change = SAME,
    bias: str = "lm_head.bias",
    decoder: str = "lm_head.decoder",
    unused: tuple[str, ...] = ("pooler.dense",),
) -> Table:
    """Embeddings under BERT's names; blocks and heads as the family has them."""
    words = f"{prefix}embeddings.word_embeddings.weight"
    places = f"{prefix}embeddings.position_embeddings.weight"
    return Table(
        rows=[
            Row(words, ("embedding.table.weight",)),
            Row(places, ("encoder.position.table.weight",), positions),
            Row(f"{prefix}embeddings.token_type_embeddings.weight", ("segment.weight",)),
            *both(f"{prefix}embeddings.LayerNorm", "norm"),
            *layer,
            *head,
            Row(bias, ("embedding.head_bias",)),
        ],
        tied={f"{decoder}.weight": words, f"{decoder}.bias": bias},
        buffers=(f"{prefix}embeddings.position_ids", f"{prefix}embeddings.token_type_ids"),
        unused=tuple(f"{prefix}{name}.{kind}" for name in unused for kind in ("weight", "bias")),
    )


def head_rows(fill: Mapping[str, str], pooled: Mapping[str, str], config: BERT) -> list[Row]:
    """The rows of the head that the config has; one linear layer for each token is named alike everywhere."""
    if isinstance(config.head, TokenClassifierHead | SpanHead):
        return both("classifier" if isinstance(config.head, TokenClassifierHead) else "qa_outputs", "head.1")
    chosen = fill if isinstance(config.head, MaskedLMHead) else pooled
    return [row for ours, theirs in chosen.items() for row in both(theirs, f"head.{ours}")]


def encoder(
    model_type: str,
    name: str,
    config: Callable[[Settings, Weights, str], BERT],
    table: Callable[[BERT], Table],
    *,
    prefix: str,
    heads: tuple[str, ...] = (),
    more: tuple[str, ...] = (),
    rename: Callable[[str], str] = str,
    **defaults: Any,
) -> Family:
    return Family(
        model_type=model_type,
        architectures=(*(f"{name}{head}" for head in HEADS_READ), *more),
        config=config,
        table=table,
        length="max_position_embeddings",
        prefix=prefix,
        heads=(*heads, "cls.", "lm_head.", "classifier.", "qa_outputs."),
        rename=rename,
        defaults=defaults,
    )
