"""A family of models: what its config.json says in our words, its mapping table, and the way back."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import UnionType
from typing import Any

import torch

from regard.core.errors import ConfigError
from regard.interop.folder import Weights
from regard.interop.settings import Settings
from regard.interop.table import Table
from regard.parts.attention import Full
from regard.parts.experts import Feed
from regard.parts.feed import GELU, ExactGeGLU, GeGLU, ReLU, SiLU, SquaredReLU, SwiGLU, TanhGELU
from regard.parts.norms import LayerNorm
from regard.parts.trunk import Trunk


@dataclass(frozen=True)
class Family:
    model_type: str
    architectures: tuple[str, ...]  # those that we read; the first where the file names none
    config: Callable[[Settings, Weights, str], Any]  # config.json, the weights and the architecture to our config
    table: Callable[[Any], Table]
    length: str | None = None  # the key of the longest text
    prefix: str = ""  # of the trunk inside the whole model
    heads: tuple[str, ...] = ()  # how names outside the trunk begin
    rename: Callable[[str], str] = str  # older names to those of the table
    settings: Callable[[Any], dict[str, Any]] | None = None  # our config to config.json; None: read only
    defaults: Mapping[str, Any] = field(default_factory=dict)  # what a key means where the file does not have it


PLAIN: dict[str, type[Any]] = {
    "gelu": GELU, "gelu_python": GELU, "gelu_new": TanhGELU, "gelu_pytorch_tanh": TanhGELU, "gelu_fast": TanhGELU,
    "relu": ReLU, "relu2": SquaredReLU, "silu": SiLU, "swish": SiLU,
}  # fmt: skip
GATED: dict[str, type[Any]] = {
    "silu": SwiGLU, "swish": SwiGLU, "gelu_new": GeGLU, "gelu_pytorch_tanh": GeGLU, "gelu_fast": GeGLU,
    "gelu": ExactGeGLU,
}  # fmt: skip


def activation(feed: Feed, table: Mapping[str, type], family: str) -> str:
    """Their word for our feed-forward."""
    for word, kind in table.items():
        if type(feed) is kind:
            return word
    raise ConfigError(f"feed: {feed} cannot be stored in a Hugging Face {family} folder")


def hidden(feed: Any, width: int) -> int:
    """The size that a feed-forward config would be built with."""
    with torch.device("meta"):
        return feed.build(width, False).up.out_features


def expect(config: Trunk, family: str, wanted: Mapping[str, Any]) -> None:
    """Every part is of the kind, or has the value, that a family is made of; else one line that names the part."""
    for part, want in wanted.items():
        have = getattr(config, part)
        if not (isinstance(have, want) if isinstance(want, type | UnionType) else have == want):
            raise ConfigError(f"{part}: {have} cannot be stored in a Hugging Face {family} folder")


def expect_plain_heads(config: Trunk, family: str, *, grouped: bool = False) -> None:
    """Full attention, scaled by the root of the size; without `grouped`, heads that divide the width among them."""
    expect(config, family, {"attention": Full, "alternate": None, "query_norm": None})
    size = config.head_size or config.width // config.heads
    if not grouped and (size * config.heads != config.width or (config.kv_heads or config.heads) != config.heads):
        raise ConfigError(
            f"heads: {config.heads} of size {size} do not add up to width {config.width}, as {family} requires"
        )
    if isinstance(config.attention, Full) and config.attention.softcap is not None:
        raise ConfigError(f"attention.softcap: {config.attention.softcap} cannot be stored in this Hugging Face family")
    if isinstance(config.norm, LayerNorm) and not config.norm.bias:
        raise ConfigError(f"norm.bias: false cannot be stored in a Hugging Face {family} folder")
    scale = config.attention.scale if isinstance(config.attention, Full) else None
    if scale is not None and scale != size**-0.5:
        raise ConfigError(f"attention.scale: {scale} cannot be stored in a Hugging Face {family} folder")


def biases(config: Trunk) -> tuple[bool, bool, bool]:
    """Of queries, keys and values; of what leaves the heads; of the feed-forward."""
    query = config.bias if config.query_bias is None else config.query_bias
    return query, config.bias, config.bias if config.feed_bias is None else config.feed_bias


def expect_biases(config: Trunk, family: str, *, query: bool, out: bool, feed: bool) -> None:
    if biases(config) != (query, out, feed):
        raise ConfigError(
            f"bias: {biases(config)} (of queries, of what leaves the heads, of the feed-forward) cannot be stored in a "
            f"Hugging Face {family} folder, which has {(query, out, feed)}"
        )
