"""Translators and summarisers with T5's parts as T5 folders of Hugging Face (Raffel et al., 2020)."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.core.errors import ConfigError
from regard.export.pair_models import write_pair_model
from regard.interop.families.t5 import FEEDS
from regard.interop.family import hidden
from regard.models import Transformer
from regard.parts import Full, PreNorm, RMSNorm, T5Bias

if TYPE_CHECKING:
    from regard.tasks.base import Run

KINDS = {"position": T5Bias, "norm": RMSNorm, "wiring": PreNorm}
PLAIN: dict[str, Any] = {
    "attention": Full(scale=1.0), "alternate": None, "query_norm": None, "embedding_skip": None, "copy": None,
    "embed_norm": None, "embed_scale": 1.0, "target_vocab": None, "target_position": None, "bias": False,
    "logit_bias": False,
}  # fmt: skip


def write_t5(run: "Run", folder: Path) -> str:
    """Write config, weights and tokenizer; gives the class that loads them."""
    assert isinstance(run.config, Transformer)
    return write_pair_model(run, folder, "t5", t5_settings(run.config))


def t5_settings(config: Transformer) -> dict[str, Any]:
    """config.json; a part that T5 does not have is named."""
    for part, want in PLAIN.items():
        if getattr(config, part) != want:
            raise _refused(part, getattr(config, part))
    for part, kind in KINDS.items():
        if type(getattr(config, part)) is not kind:
            raise _refused(part, getattr(config, part))
    for part in ("query_bias", "feed_bias"):
        if getattr(config, part):
            raise _refused(part, True)
    word = next((word for word, (kind, _) in FEEDS.items() if type(config.feed) is kind), None)
    if word is None:
        raise _refused("feed", config.feed)
    if config.kv_heads not in (None, config.heads):
        raise _refused("kv_heads", config.kv_heads)
    if config.logit_scale not in (1.0, config.width**-0.5):
        raise _refused("logit_scale", config.logit_scale)
    assert isinstance(config.position, T5Bias)
    assert isinstance(config.norm, RMSNorm)
    return {
        "vocab_size": config.vocab,
        "d_model": config.width,
        "d_kv": config.head_size or config.width // config.heads,
        "d_ff": hidden(config.feed, config.width),
        "num_layers": config.layers,
        "num_decoder_layers": config.decoder_layers or config.layers,
        "num_heads": config.heads,
        "relative_attention_num_buckets": config.position.count,
        "relative_attention_max_distance": config.position.far,
        "feed_forward_proj": word,
        "layer_norm_epsilon": config.norm.eps,
        "dropout_rate": config.dropout,
        "tie_word_embeddings": config.tied,
        "scale_decoder_outputs": config.logit_scale != 1.0,
    }


def _refused(part: str, value: object) -> ConfigError:
    return ConfigError(f"model.{part}: {value} cannot be stored in a Hugging Face T5 folder")
