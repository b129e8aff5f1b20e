"""The attention variants, one file each. `Attention` is their table: the config reader and the tests read it."""

from regard.parts.attention.additive import Additive
from regard.parts.attention.base import AttentionConfig, Bias
from regard.parts.attention.bigbird import BigBird
from regard.parts.attention.compressed import Compressed
from regard.parts.attention.distance import Distance
from regard.parts.attention.full import Full, ScalableSoftmax
from regard.parts.attention.linformer import Linformer
from regard.parts.attention.window import Window

Attention = Full | Additive | Linformer | BigBird | Window | Compressed | Distance

__all__ = [
    "Additive", "Attention", "AttentionConfig", "Bias", "BigBird", "Compressed", "Distance", "Full", "Linformer",
    "ScalableSoftmax", "Window",
]  # fmt: skip
