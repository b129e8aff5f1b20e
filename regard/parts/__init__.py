"""The parts: what every model is made of. Each family has one signature and one union, which is its table."""

from regard.parts.attention import Additive, Attention, BigBird, Compressed, Full, Linformer, Window
from regard.parts.blocks import Block, Stack
from regard.parts.cache import Cache, KeyValues
from regard.parts.experts import Experts, Feed
from regard.parts.feed import GELU, GeGLU, NoFeed, ReLU, SiLU, SquaredReLU, SwiGLU, TanhGELU
from regard.parts.masks import Causal, Given, Mask, Nearby, Packed, Padding, Prefix
from regard.parts.multihead import MultiHead
from regard.parts.norms import LayerNorm, NoNorm, Norm, RMSNorm
from regard.parts.pool import ClassToken, Mean, Pool, Query
from regard.parts.positions import (
    ALiBi,
    Buckets,
    Grid,
    Learned,
    NoPosition,
    Places,
    Position,
    Relative,
    Rotary,
    Sinusoid,
    Stretch,
    StretchSlow,
    Tree,
)
from regard.parts.recurrent import GRU, LSTM, Cell
from regard.parts.stem import Convolutions, NoStem, Stem
from regard.parts.taps import listen
from regard.parts.wiring import NoResidual, PostNorm, PreNorm, Wiring

__all__ = [
    "GELU", "GRU", "LSTM", "ALiBi", "Additive", "Attention", "BigBird", "Block", "Buckets", "Cache", "Causal", "Cell",
    "ClassToken", "Compressed", "Convolutions", "Experts", "Feed", "Full", "GeGLU", "Given", "Grid", "KeyValues",
    "LayerNorm", "Learned", "Linformer", "Mask", "Mean", "MultiHead", "Nearby", "NoFeed", "NoNorm", "NoPosition",
    "NoResidual", "NoStem", "Norm", "Packed", "Padding", "Places", "Pool", "Position", "PostNorm", "PreNorm", "Prefix",
    "Query", "RMSNorm", "ReLU", "Relative", "Rotary", "SiLU", "Sinusoid", "SquaredReLU", "Stack", "Stem", "Stretch",
    "StretchSlow", "SwiGLU", "TanhGELU", "Tree", "Window", "Wiring", "listen",
]  # fmt: skip
