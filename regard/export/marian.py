"""Translators and summarisers as Marian folders of Hugging Face (Junczys-Dowmunt et al., 2018)."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors.torch import save_file

from regard.core.errors import ConfigError
from regard.core.files import write_text
from regard.interop.families import FAMILIES
from regard.interop.family import PLAIN, activation, hidden
from regard.interop.special import copy_tokenizer, tokenizer_file
from regard.interop.table import collect, fitting
from regard.models import Transformer
from regard.parts import Full, LayerNorm, PostNorm, Sinusoid

if TYPE_CHECKING:
    from regard.tasks.base import Run

LENGTH = 1024  # tokens that the waves of positions are laid out for


def write_marian(run: "Run", folder: Path) -> str:
    """Write config, weights and tokenizer; gives the class that loads them."""
    config = run.config
    assert isinstance(config, Transformer)
    settings = marian_settings(config)
    tokenizer = run.require_tokenizer("a translator without one cannot be used")
    settings |= {"pad_token_id": tokenizer.pad, "eos_token_id": tokenizer.end, "bos_token_id": tokenizer.start}
    settings |= {"decoder_start_token_id": tokenizer.start, "forced_eos_token_id": None, "dtype": "float32"}
    ours = {name: tensor.detach().cpu() for name, tensor in run.model.state_dict().items()}
    tensors = collect(fitting(FAMILIES["marian"].table(config), ours), ours)
    words = "model.shared.weight" if config.target_vocab is None else "model.decoder.embed_tokens.weight"
    tensors.setdefault("final_logits_bias", torch.zeros(1, len(tensors[words])))
    with tokenizer_file(run.path, tokenizer) as file:
        assert file is not None
        copy_tokenizer(file, folder, LENGTH, framed=False)
    _end_sources(folder / "tokenizer.json", tokenizer.end)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "model.safetensors").chmod(0o644)  # the library makes files that only their owner may read
    write_text(folder / "config.json", json.dumps(settings, indent=2) + "\n")
    return "MarianMTModel"


def _end_sources(file: Path, end: int) -> None:
    """A source ends with the end token, as in training."""
    from tokenizers import Tokenizer
    from tokenizers.processors import TemplateProcessing

    engine = Tokenizer.from_file(str(file))
    piece = engine.id_to_token(end)
    engine.post_processor = TemplateProcessing(single=f"$A {piece}", pair=None, special_tokens=[(piece, end)])
    write_text(file, engine.to_str(pretty=True))


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
