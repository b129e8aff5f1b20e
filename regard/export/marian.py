"""Translators and summarisers as Marian folders of Hugging Face (Junczys-Dowmunt et al., 2018)."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from regard.core.errors import ConfigError
from regard.export.pair_models import Tensors, write_pair_model
from regard.interop.family import PLAIN, activation, hidden
from regard.models import Transformer
from regard.parts import Full, LayerNorm, PostNorm, Sinusoid

if TYPE_CHECKING:
    from regard.tasks.base import Run

LENGTH = 1024  # tokens that the waves of positions are laid out for


def write_marian(run: "Run", folder: Path) -> str:
    """Write config, weights and tokenizer; gives the class that loads them."""
    assert isinstance(run.config, Transformer)
    settings = marian_settings(run.config) | {"forced_eos_token_id": None}
    words = "model.shared.weight" if run.config.target_vocab is None else "model.decoder.embed_tokens.weight"

    def with_bias(tensors: Tensors) -> Tensors:
        return {"final_logits_bias": torch.zeros(1, len(tensors[words]))} | tensors

    return write_pair_model(run, folder, "marian", settings, length=LENGTH, more=with_bias)


def marian_settings(config: Transformer) -> dict[str, Any]:
    """config.json; a part that Marian does not have is named."""
    plain: dict[str, Any] = {
        "attention": Full(),
        "alternate": None,
        "query_norm": None,
        "embedding_skip": None,
        "logit_scale": 1.0,
        "copy": None,
    }
    plain |= {"wiring": PostNorm(), "norm": LayerNorm(1e-5), "position": Sinusoid(), "target_position": None}
    plain |= {"bias": True, "tied": True, "head_size": None, "kv_heads": None}
    for part, want in plain.items():
        if getattr(config, part) != want:
            raise ConfigError(f"model.{part}: {getattr(config, part)} cannot be stored in a Hugging Face Marian folder")
    for part in ("query_bias", "feed_bias"):
        if getattr(config, part) is False:
            raise ConfigError(f"model.{part}: False cannot be stored in a Hugging Face Marian folder")
    if config.embed_scale not in (None, 1.0, config.width**0.5):
        raise ConfigError(f"model.embed_scale: {config.embed_scale} cannot be stored in a Hugging Face Marian folder")
    layers, size = config.decoder_layers or config.layers, hidden(config.feed, config.width)
    return {
        "architectures": ["MarianMTModel"],
        "model_type": "marian",
        "is_encoder_decoder": True,
        "vocab_size": config.vocab,
        "decoder_vocab_size": config.target_vocab or config.vocab,
        "share_encoder_decoder_embeddings": config.target_vocab is None,
        "d_model": config.width,
        "encoder_layers": config.layers,
        "decoder_layers": layers,
        "encoder_attention_heads": config.heads,
        "decoder_attention_heads": config.heads,
        "encoder_ffn_dim": size,
        "decoder_ffn_dim": size,
        "activation_function": activation(config.feed, PLAIN, "Marian"),
        "scale_embedding": config.embed_scale != 1.0,
        "static_position_embeddings": True,
        "max_position_embeddings": LENGTH,
        "dropout": config.dropout,
        "activation_dropout": 0.0,
        "attention_dropout": 0.0,
        "tie_word_embeddings": True,
    }
