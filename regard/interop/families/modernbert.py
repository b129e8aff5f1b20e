"""ModernBERT: pre-norm, gated feed-forward, windows in most layers, and turns of their own for each kind (2024)."""

from typing import Any

from regard.interop.families.decoder import FULL, SLIDING, attention_by_layer, layer_kinds
from regard.interop.families.encoder import ACTIVATIONS, encoder, head_of, head_rows
from regard.interop.families.rope import read_rotary_by_kind
from regard.interop.family import GATED
from regard.interop.folder import Weights
from regard.interop.settings import HEADS, HIDDEN, LAYERS, LENGTH, VOCAB, WIDTH, Settings
from regard.interop.table import HALVES, Row, Table, both, fused
from regard.models.bert import BERT
from regard.models.heads import ClassifierHead, Head, MaskedLMHead, Pooling
from regard.parts.norms import LayerNorm
from regard.parts.wiring import PreNorm

POOLING: dict[str, Pooling] = {"cls": "first", "mean": "mean"}


def config(file: Settings, weights: Weights, architecture: str) -> BERT:
    layers = file.integer("num_hidden_layers", 22, LAYERS)
    length = file.integer("max_position_embeddings", 8192, LENGTH)
    every = file.integer("global_attn_every_n_layers", 3, LAYERS)
    kinds = layer_kinds(file, layers, lambda layer: bool(layer % every))
    rotary = read_rotary_by_kind(file, length, {FULL: ("global_rope_theta", 160000.0), SLIDING: LOCAL})
    main = SLIDING if SLIDING in kinds else FULL
    other: dict[str, Any] = {"alternate_position": rotary[FULL]} if len(set(kinds)) > 1 else {}
    feed = file.choice("hidden_activation", GATED, "gelu")
    norm = LayerNorm(file.eps("norm_eps", 1e-5), bias=file.flag("norm_bias", False))
    file.only("decoder_bias", True)
    file.read_keys |= TRAINING
    bias = file.flag("attention_bias", False)
    return BERT(
        vocab=file.integer("vocab_size", 50368, VOCAB),
        width=file.integer("hidden_size", 768, WIDTH),
        layers=layers,
        heads=file.integer("num_attention_heads", 12, HEADS),
        segments=0,
        position=rotary[main],
        feed=feed(file.integer("intermediate_size", 1152, HIDDEN)),
        norm=norm,
        wiring=PreNorm(),
        normed_input=True,
        dropout=file.dropout("embedding_dropout", 0.0),
        bias=bias,
        feed_bias=feed_bias if (feed_bias := file.flag("mlp_bias", False)) != bias else None,
        head=_head(file, architecture, norm),
        **attention_by_layer(kinds, file.integer("local_attention", 128, LENGTH) // 2 + 1),
        **other,
    )


LOCAL = ("local_rope_theta", 10000.0)
TRAINING = {
    "initializer_cutoff_factor", "mlp_dropout", "deterministic_flash_attn", "sparse_prediction",
    "sparse_pred_ignore_index", "reference_compile", "repad_logits_with_grad", "cls_token_id", "sep_token_id",
    "mask_token_id", "classifier_pooling", "classifier_bias", "classifier_activation", "layer_norm_eps",
    "position_embedding_type", "tie_word_embeddings",
}  # fmt: skip


def _head(file: Settings, architecture: str, norm: LayerNorm) -> Head:
    head = head_of(file, architecture, fill="gelu")
    act = file.choice("classifier_activation", ACTIVATIONS, "gelu")
    bias = file.flag("classifier_bias", False)
    if isinstance(head, MaskedLMHead):
        return MaskedLMHead(act, bias)
    if isinstance(head, ClassifierHead):
        return ClassifierHead(head.labels, file.choice("classifier_pooling", POOLING, "cls"), act, norm, bias)
    return head


def table(config: BERT) -> Table:
    theirs, ours = "model.layers.{}", "encoder.{}"
    queries = tuple(f"{ours}.attend.{part}" for part in ("query", "key", "value"))
    fill = {"dense": "head.dense", "norm": "head.norm"}
    label = {"pool": "head.dense", "norm": "head.norm", "label": "classifier"}
    return Table(
        rows=[
            Row("model.embeddings.tok_embeddings.weight", ("embedding.table.weight",)),
            *both("model.embeddings.norm", "norm"),
            *both(f"{theirs}.attn_norm", f"{ours}.attend_norm"),
            *fused(f"{theirs}.attn.Wqkv", queries),
            *both(f"{theirs}.attn.Wo", f"{ours}.attend.out"),
            *both(f"{theirs}.mlp_norm", f"{ours}.feed_norm"),
            *fused(f"{theirs}.mlp.Wi", (f"{ours}.feed.gate", f"{ours}.feed.up"), HALVES),
            *both(f"{theirs}.mlp.Wo", f"{ours}.feed.down"),
            *both("model.final_norm", "encoder.norm"),
            *head_rows(fill, label, config),
            Row("decoder.bias", ("embedding.head_bias",)),
        ],
        tied={"decoder.weight": "model.embeddings.tok_embeddings.weight"},
    )


FAMILIES = (encoder("modernbert", "ModernBert", config, table, prefix="model.", heads=("head.", "decoder.")),)
