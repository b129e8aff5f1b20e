"""BART, mBART, Pegasus, M2M-100, Blenderbot and PLBART: Marian's names; norms and positions differ (2019, 2020)."""

from dataclasses import replace
from typing import Any

from regard.interop.families.learned import OFFSET, fairseq_waves
from regard.interop.families.marian import alike
from regard.interop.families.marian import table as marian_table
from regard.interop.family import PLAIN, Family
from regard.interop.folder import Weights
from regard.interop.settings import HEADS, HIDDEN, LAYERS, LENGTH, VOCAB, WIDTH, Settings
from regard.interop.table import Row, Table, both, without_first
from regard.models.transformer import Transformer
from regard.parts.norms import LayerNorm
from regard.parts.positions import Learned, Sinusoid
from regard.parts.wiring import PostNorm, PreNorm

NORM = LayerNorm(1e-5)


def shared(file: Settings, weights: Weights) -> dict[str, Any]:
    file.only("is_encoder_decoder", True)
    file.only("tie_word_embeddings", True)
    for key in ("normalize_before", "normalize_embedding", "add_final_layer_norm", "add_bias_logits"):
        file.read_keys.add(key)  # of an older library; the classes of these families do not read them
    file.read_keys |= {"static_position_embeddings", "extra_pos_embeddings", "gradient_checkpointing"} | GENERATION
    width = file.integer("d_model", 1024, WIDTH)
    feed = file.choice("activation_function", PLAIN, "gelu")
    return {
        "vocab": file.integer("vocab_size", 50265, VOCAB),
        "width": width,
        "layers": file.integer("encoder_layers", 12, LAYERS),
        "decoder_layers": file.integer("decoder_layers", 12, LAYERS),
        "heads": alike(file, "encoder_attention_heads", "decoder_attention_heads", 16, HEADS),
        "feed": feed(alike(file, "encoder_ffn_dim", "decoder_ffn_dim", 4096, HIDDEN)),
        "norm": NORM,
        "dropout": file.dropout("dropout", 0.1),
        "embed_scale": width**0.5 if file.flag("scale_embedding", False) else 1.0,
        "logit_bias": "final_logits_bias" in weights,  # a file may leave it out, which means zero
    }


GENERATION = {"num_hidden_layers", "encoder_no_repeat_ngram_size", "early_stopping", "no_repeat_ngram_size",
              "length_penalty", "min_length", "force_bos_token_to_be_generated", "add_cross_attention"}  # fmt: skip


def _learned(file: Settings) -> Learned:
    return Learned(file.integer("max_position_embeddings", 1024, LENGTH))


def bart(file: Settings, weights: Weights, architecture: str) -> Transformer:
    own = {"wiring": PostNorm(), "embed_norm": NORM, "position": _learned(file)}
    return Transformer(**shared(file, weights) | own)


def mbart(file: Settings, weights: Weights, architecture: str) -> Transformer:
    own = {"wiring": PreNorm(), "embed_norm": NORM, "position": _learned(file)}
    return Transformer(**shared(file, weights) | own)


def blenderbot(file: Settings, weights: Weights, architecture: str) -> Transformer:
    return Transformer(**shared(file, weights) | {"wiring": PreNorm(), "position": _learned(file)})


def pegasus(file: Settings, weights: Weights, architecture: str) -> Transformer:
    return Transformer(**shared(file, weights) | {"wiring": PreNorm(), "position": Sinusoid()})


def m2m_100(file: Settings, weights: Weights, architecture: str) -> Transformer:
    own = shared(file, weights)
    return Transformer(**own | {"wiring": PreNorm(), "position": fairseq_waves(own["width"])})


def table(offset: int = 0) -> Any:
    """Marian's, with norms of the embeddings and at the ends, and a table of positions."""
    change = without_first(offset)

    def whole(config: Transformer) -> Table:
        base, more = marian_table(config), []
        for side, ours in (("encoder", "embed_norm"), ("decoder", "target_embed_norm")):
            places = f"model.{side}.embed_positions.weight"
            more += both(f"model.{side}.layernorm_embedding", ours)
            more += both(f"model.{side}.layer_norm", f"{side}.norm")
            more += [Row(places, (f"{side}.position.table.weight",), change)]
        buffers = base.buffers + tuple(f"model.{side}.embed_positions.weights" for side in ("encoder", "decoder"))
        return replace(base, rows=[*base.rows, *more], buffers=buffers)

    return whole


def _family(model_type: str, name: str, config: Any, offset: int = 0, **defaults: Any) -> Family:
    return Family(
        model_type=model_type,
        architectures=(f"{name}ForConditionalGeneration",),
        config=config,
        table=table(offset),
        length="max_position_embeddings",
        defaults=defaults,
    )


FAMILIES = (
    _family("bart", "Bart", bart, OFFSET),
    _family("plbart", "PLBart", bart, OFFSET, encoder_layers=6, decoder_layers=6, encoder_attention_heads=12,
            decoder_attention_heads=12, d_model=768, encoder_ffn_dim=3072, decoder_ffn_dim=3072, scale_embedding=True,
            vocab_size=50005),
    _family("mbart", "MBart", mbart, OFFSET),
    _family("pegasus", "Pegasus", pegasus),
    _family("m2m_100", "M2M100", m2m_100, activation_function="relu", scale_embedding=True, vocab_size=128112),
    _family("blenderbot", "Blenderbot", blenderbot, encoder_layers=2, decoder_layers=24, encoder_attention_heads=32,
            decoder_attention_heads=32, d_model=2560, encoder_ffn_dim=10240, decoder_ffn_dim=10240, vocab_size=8008,
            max_position_embeddings=128),
)  # fmt: skip
