"""RoBERTa and what is made like it: positions that begin after the padding token's number (Liu et al., 2019)."""

from functools import partial

from regard.interop.families.encoder import (
    LAYER,
    POOLED,
    ROBERTA_FILL,
    encoder,
    head_of,
    head_rows,
    layer_rows,
    table_of,
    trunk,
)
from regard.interop.family import Family
from regard.interop.folder import Weights
from regard.interop.settings import LENGTH, Settings
from regard.interop.table import Row, Table, both, without_first
from regard.models.bert import BERT
from regard.parts.positions import Combined, Learned, T5Bias
from regard.parts.wiring import PreNorm

PAD = 1  # the number of the padding token, after which positions begin


def _positions(file: Settings) -> Learned:
    """Without the rows up to the padding token's, which no text uses."""
    file.only("pad_token_id", PAD, None)
    rows = file.integer("max_position_embeddings", 512, LENGTH)
    if rows <= PAD + 1:
        raise file.error("max_position_embeddings", rows, f"leaves no position after the first {PAD + 1}")
    return Learned(rows - PAD - 1)


def roberta(file: Settings, weights: Weights, architecture: str) -> BERT:
    return BERT(**trunk(file, head_of(file, architecture, fill="gelu")) | {"position": _positions(file)})


def pre_norm(file: Settings, weights: Weights, architecture: str) -> BERT:
    shared = trunk(file, head_of(file, architecture, fill="gelu"))
    return BERT(**shared | {"position": _positions(file), "wiring": PreNorm()})


def mpnet(file: Settings, weights: Weights, architecture: str) -> BERT:
    shared = trunk(file, head_of(file, architecture, fill="gelu"))
    buckets = file.integer("relative_attention_num_buckets", 32, LENGTH, low=4)
    position = Combined(_positions(file), T5Bias(buckets, 128))
    return BERT(**shared | {"position": position, "segments": 0})


def table(prefix: str, offset: int, config: BERT) -> Table:
    return table_of(
        prefix,
        layer_rows(LAYER, f"{prefix}encoder.layer.{{}}"),
        head_rows(ROBERTA_FILL, POOLED, config),
        positions=without_first(offset),
    )


def pre_norm_table(config: BERT) -> Table:
    prefix = "roberta_prelayernorm."
    names = LAYER | {"attend_norm": "attention.LayerNorm", "feed_norm": "intermediate.LayerNorm"}
    rows = [*layer_rows(names, f"{prefix}encoder.layer.{{}}"), *both(f"{prefix}LayerNorm", "encoder.norm")]
    return table_of(prefix, rows, head_rows(ROBERTA_FILL, POOLED, config), positions=without_first(PAD + 1))


def mpnet_table(config: BERT) -> Table:
    prefix = "mpnet."
    attention = {"query": "q", "key": "k", "value": "v", "out": "o"}
    names = LAYER | {f"attend.{ours}": f"attention.attn.{name}" for ours, name in attention.items()}
    rows = layer_rows(names | {"attend_norm": "attention.LayerNorm"}, f"{prefix}encoder.layer.{{}}")
    places = f"{prefix}embeddings.position_embeddings.weight"
    rows += [
        Row(places, ("encoder.position.embedding.table.weight",), without_first(PAD + 1)),
        Row(f"{prefix}encoder.relative_attention_bias.weight", ("encoder.position.score.table.weight",)),
    ]
    return table_of(prefix, rows, head_rows(ROBERTA_FILL, POOLED, config))


def _like(model_type: str, name: str, vocab: int, prefix: str = "roberta.") -> Family:
    return encoder(model_type, name, roberta, partial(table, prefix, PAD + 1), prefix=prefix, vocab_size=vocab)


FAMILIES = (
    _like("roberta", "Roberta", 50265),
    _like("xlm-roberta", "XLMRoberta", 30522),
    _like("camembert", "Camembert", 30522),
    _like("data2vec-text", "Data2VecText", 30522, "data2vec_text."),
    encoder(
        "roberta-prelayernorm", "RobertaPreLayerNorm", pre_norm, pre_norm_table, prefix="roberta_prelayernorm.",
        vocab_size=50265,
    ),
    encoder("mpnet", "MPNet", mpnet, mpnet_table, prefix="mpnet.", vocab_size=30527),
)  # fmt: skip
