"""The attention variants, one file each. `Attention` is their table: the config reader and the tests read it."""

from regard.parts.attention.additive import Additive
from regard.parts.attention.base import Bias
from regard.parts.attention.bigbird import BigBird
from regard.parts.attention.compressed import Compressed
from regard.parts.attention.full import Full
from regard.parts.attention.linformer import Linformer
from regard.parts.attention.window import Window

Attention = Full | Additive | Linformer | BigBird | Window | Compressed

__all__ = ["Additive", "Attention", "Bias", "BigBird", "Compressed", "Full", "Linformer", "Window"]
