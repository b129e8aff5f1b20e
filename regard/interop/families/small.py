"""DistilBERT, ALBERT, ELECTRA, RemBERT and RoFormer: BERT with fewer or shared layers, narrow embeddings, or turns."""

from typing import Any

from regard.interop.families.encoder import (
    ACTIVATIONS,
    BERT_FILL,
    LAYER,
    POOLED,
    encoder,
    head_of,
    head_rows,
    layer_rows,
    table_of,
    trunk,
)
from regard.interop.family import PLAIN
from regard.interop.folder import Weights
from regard.interop.settings import HEADS, HIDDEN, LAYERS, LENGTH, VOCAB, WIDTH, Settings
from regard.interop.table import Row, Table, both, neighbours_to_halves, repeated
from regard.models.bert import BERT
from regard.models.heads import MaskedLMHead
from regard.parts.norms import LayerNorm
from regard.parts.positions import Learned, Rotary


def distilbert(file: Settings, weights: Weights, architecture: str) -> BERT:
    feed = file.choice("activation", PLAIN, "gelu")
    file.read_keys |= {"sinusoidal_pos_embds", "qa_dropout", "seq_classif_dropout"}  # how it was made
    file.read_keys |= {"tie_weights_", "tie_word_embeddings"}
    fill = file.choice("activation", ACTIVATIONS, "gelu")
    return BERT(
        vocab=file.integer("vocab_size", 30522, VOCAB),
        width=file.integer("dim", 768, WIDTH),
        layers=file.integer("n_layers", 6, LAYERS),
        heads=file.integer("n_heads", 12, HEADS),
        segments=0,
        position=Learned(file.integer("max_position_embeddings", 512, LENGTH)),
        feed=feed(file.integer("hidden_dim", 3072, HIDDEN)),
        norm=LayerNorm(1e-12),
        dropout=file.dropout("dropout", 0.1),
        head=head_of(file, architecture, fill=fill, label="relu"),
    )


def distilbert_table(config: BERT) -> Table:
    names = {
        "attend.query": "attention.q_lin",
        "attend.key": "attention.k_lin",
        "attend.value": "attention.v_lin",
        "attend.out": "attention.out_lin",
        "attend_norm": "sa_layer_norm",
        "feed.up": "ffn.lin1",
        "feed.down": "ffn.lin2",
        "feed_norm": "output_layer_norm",
    }
    fill = {"dense": "vocab_transform", "norm": "vocab_layer_norm"}
    return table_of(
        "distilbert.",
        layer_rows(names, "distilbert.transformer.layer.{}"),
        head_rows(fill, {"pool": "pre_classifier", "label": "classifier"}, config),
        bias="vocab_projector.bias",
        decoder="vocab_projector",
    )


def _narrow(file: Settings, shared: dict[str, Any], key: str = "embedding_size") -> dict[str, Any]:
    """Embeddings that are narrower than the model, and a linear layer after them."""
    width = file.integer(key, 128, WIDTH)
    return shared | {"embed_width": None if width == shared["width"] else width}


def albert(file: Settings, weights: Weights, architecture: str) -> BERT:
    for key in ("num_hidden_groups", "inner_group_num"):
        file.only(key, 1)
    file.only("net_structure_type", 0)
    file.only("num_memory_blocks", 0)
    file.only("gap_size", 0)
    file.read_keys |= {"down_scale_factor", "embedding_size"}
    shared = trunk(file, head_of(file, architecture))
    return BERT(**shared | {"embed_width": file.integer("embedding_size", 128, WIDTH), "distinct_layers": 1})


def albert_table(config: BERT) -> Table:
    group, layers = "albert.encoder.albert_layer_groups.0.albert_layers.0", range(config.layers)
    names = {
        "attend.query": "attention.query",
        "attend.key": "attention.key",
        "attend.value": "attention.value",
        "attend.out": "attention.dense",
        "attend_norm": "attention.LayerNorm",
        "feed.up": "ffn",
        "feed.down": "ffn_output",
        "feed_norm": "full_layer_layer_norm",
    }
    rows = [
        Row(f"{group}.{theirs}.{kind}", tuple(f"encoder.{n}.{ours}.{kind}" for n in layers), repeated(config.layers))
        for ours, theirs in names.items()
        for kind in ("weight", "bias")
    ]
    rows += both("albert.encoder.embedding_hidden_mapping_in", "widen")
    fill = {"dense": "predictions.dense", "norm": "predictions.LayerNorm"}
    return table_of(
        "albert.",
        rows,
        head_rows(fill, {"pool": "albert.pooler", "label": "classifier"}, config),
        bias="predictions.bias",
        decoder="predictions.decoder",
        unused=("pooler",),
    )


def electra(file: Settings, weights: Weights, architecture: str) -> BERT:
    """The discriminator's own head, which tells replaced tokens, is not read."""
    file.read_keys.add("summary_last_dropout")
    return BERT(**_narrow(file, trunk(file, head_of(file, architecture, fill="gelu", label="gelu"))))


def electra_table(config: BERT) -> Table:
    rows = [*layer_rows(LAYER, "electra.encoder.layer.{}"), *both("electra.embeddings_project", "widen")]
    fill = {"dense": "generator_predictions.dense", "norm": "generator_predictions.LayerNorm"}
    table = table_of(
        "electra.",
        rows,
        head_rows(fill, POOLED, config),
        bias="generator_lm_head.bias",
        decoder="generator_lm_head",
        unused=(),
    )
    names = ("dense", "dense_prediction")
    unused = tuple(f"discriminator_predictions.{name}.{kind}" for name in names for kind in ("weight", "bias"))
    return Table(rows=table.rows, tied=table.tied, buffers=table.buffers, unused=unused)


def rembert(file: Settings, weights: Weights, architecture: str) -> BERT:
    head = head_of(file, architecture)
    if isinstance(head, MaskedLMHead):
        raise file.error("output_embedding_size", file.data.get("output_embedding_size"), "is a table of its own")
    file.read_keys |= {"output_embedding_size", "tie_word_embeddings"}
    return BERT(**trunk(file, head) | {"embed_width": file.integer("input_embedding_size", 256, WIDTH)})


def rembert_table(config: BERT) -> Table:
    rows = layer_rows(LAYER, "rembert.encoder.layer.{}")
    rows += both("rembert.encoder.embedding_hidden_mapping_in", "widen")
    return table_of("rembert.", rows, head_rows({}, {"pool": "rembert.pooler.dense", "label": "classifier"}, config))


def roformer(file: Settings, weights: Weights, architecture: str) -> BERT:
    file.only("rotary_value", False)
    label = file.choice("hidden_act", ACTIVATIONS, "gelu")
    shared = trunk(file, head_of(file, architecture, label=label)) | {"position": Rotary()}
    return BERT(**_narrow(file, shared) if file.data.get("embedding_size") is not None else shared)


def roformer_table(config: BERT) -> Table:
    turned = neighbours_to_halves(config.heads, size := config.width // config.heads, size)
    changes = {"attend.query": turned, "attend.key": turned}
    rows = layer_rows(LAYER, "roformer.encoder.layer.{}", changes) + both("roformer.embeddings_project", "widen")
    table = table_of(
        "roformer.",
        rows,
        head_rows(BERT_FILL, POOLED, config),
        bias="cls.predictions.bias",
        decoder="cls.predictions.decoder",
    )
    buffers = ("roformer.encoder.embed_positions.weight",)
    return Table(rows=table.rows, tied=table.tied, buffers=buffers, unused=table.unused)


FAMILIES = (
    encoder(
        "distilbert", "DistilBert", distilbert, distilbert_table, prefix="distilbert.",
        heads=("vocab_", "pre_classifier."),
    ),
    encoder(
        "albert", "Albert", albert, albert_table, prefix="albert.", heads=("predictions.",), vocab_size=30000,
        hidden_size=4096, num_attention_heads=64, intermediate_size=16384, hidden_act="gelu_new",
        hidden_dropout_prob=0.0,
    ),
    encoder(
        "electra", "Electra", electra, electra_table, prefix="electra.", more=("ElectraForPreTraining",),
        heads=("generator_", "discriminator_"), vocab_size=30522, hidden_size=256, num_attention_heads=4,
        intermediate_size=1024,
    ),
    encoder(
        "rembert", "RemBert", rembert, rembert_table, prefix="rembert.", vocab_size=250300, hidden_size=1152,
        num_hidden_layers=32, num_attention_heads=18, intermediate_size=4608, hidden_dropout_prob=0.0,
    ),
    encoder(
        "roformer", "RoFormer", roformer, roformer_table, prefix="roformer.", vocab_size=50000,
        max_position_embeddings=1536,
    ),
)  # fmt: skip
