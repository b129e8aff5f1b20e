"""Marian: the Transformer of 2017 with a bias on the scores (Junczys-Dowmunt et al., 2018)."""

from regard.interop.family import PLAIN, Family
from regard.interop.folder import Weights
from regard.interop.settings import HEADS, HIDDEN, LAYERS, VOCAB, WIDTH, Settings
from regard.interop.table import FIRST, Row, Table, both
from regard.models.transformer import Transformer
from regard.parts.norms import LayerNorm
from regard.parts.positions import Sinusoid
from regard.parts.wiring import PostNorm


def config(file: Settings, weights: Weights, architecture: str) -> Transformer:
    for key in ("normalize_before", "normalize_embedding", "add_final_layer_norm", "add_bias_logits"):
        file.only(key, False)
    for key in ("static_position_embeddings", "is_encoder_decoder", "tie_word_embeddings"):
        file.only(key, True)
    vocab = file.integer("vocab_size", 58101, VOCAB)
    target_vocab = file.optional_integer("decoder_vocab_size", VOCAB) or vocab
    shared = file.flag("share_encoder_decoder_embeddings", True)
    if shared and target_vocab != vocab:
        raise file.error("decoder_vocab_size", target_vocab, f"is not vocab_size {vocab}, whose table it shares")
    width = file.integer("d_model", 1024, WIDTH)
    feed = file.choice("activation_function", PLAIN, "gelu")
    layers = file.integer("encoder_layers", 12, LAYERS)
    return Transformer(
        vocab=vocab,
        target_vocab=None if shared else target_vocab,
        width=width,
        layers=layers,
        decoder_layers=file.integer("decoder_layers", 12, LAYERS),
        heads=alike(file, "encoder_attention_heads", "decoder_attention_heads", 16, HEADS),
        position=Sinusoid(),
        feed=feed(alike(file, "encoder_ffn_dim", "decoder_ffn_dim", 4096, HIDDEN)),
        norm=LayerNorm(1e-5),
        wiring=PostNorm(),
        dropout=file.dropout("dropout", 0.1),
        embed_scale=width**0.5 if file.flag("scale_embedding", False) else 1.0,
        logit_bias="final_logits_bias" in weights,  # a file may leave it out, which means zero
    )


def alike(file: Settings, one: str, other: str, default: int, high: int) -> int:
    first, second = file.integer(one, default, high), file.integer(other, default, high)
    if first != second:
        raise file.error(other, second, f"is not {one} {first}: our encoder and decoder are made alike")
    return first


def table(config: Transformer) -> Table:
    sides = [
        ("encoder", "self_attn", "attend"),
        ("decoder", "self_attn", "attend"),
        ("decoder", "encoder_attn", "cross"),
    ]
    attentions = [row for side in sides for row in _attention(*side)]
    feeds = [row for side in ("encoder", "decoder") for row in _feed(side)]
    words, main = _words(config)
    return Table(
        rows=[*words, *attentions, *feeds],
        tied=dict.fromkeys((_ENCODER, _DECODER, "lm_head.weight"), main),
        buffers=("model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight"),  # the waves
    )


_ENCODER, _DECODER = "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"


def _words(config: Transformer) -> tuple[list[Row], str]:
    """The tables of words, and the one that scores them."""
    if config.target_vocab is None:
        shared = "model.shared.weight"
        bias = Row("final_logits_bias", ("embedding.head_bias",), FIRST)
        return [Row(shared, ("embedding.table.weight",)), bias], shared
    bias = Row("final_logits_bias", ("target_embedding.head_bias",), FIRST)
    return [
        Row(_ENCODER, ("embedding.table.weight",)),
        Row(_DECODER, ("target_embedding.table.weight",)),
        bias,
    ], _DECODER


def _attention(side: str, theirs: str, ours: str) -> list[Row]:
    layer, block = f"model.{side}.layers.{{}}.{theirs}", f"{side}.{{}}"
    names = {"q_proj": "query", "k_proj": "key", "v_proj": "value", "out_proj": "out"}
    rows = [row for name, part in names.items() for row in both(f"{layer}.{name}", f"{block}.{ours}.{part}")]
    return rows + both(f"{layer}_layer_norm", f"{block}.{ours}_norm")


def _feed(side: str) -> list[Row]:
    layer, block = f"model.{side}.layers.{{}}", f"{side}.{{}}"
    return [
        *both(f"{layer}.fc1", f"{block}.feed.up"),
        *both(f"{layer}.fc2", f"{block}.feed.down"),
        *both(f"{layer}.final_layer_norm", f"{block}.feed_norm"),
    ]


FAMILY = Family(
    model_type="marian",
    architectures=("MarianMTModel",),
    config=config,
    table=table,
    length="max_position_embeddings",
)
