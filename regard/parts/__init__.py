"""The parts: what every model is made of. Each family has one signature and one union, which is its table."""

from regard.parts.attention import Additive, Attention, BigBird, Compressed, Full, Linformer, ScalableSoftmax, Window
from regard.parts.blocks import Block, Stack
from regard.parts.cache import Cache, KVCache
from regard.parts.embed import BigramEmbedding
from regard.parts.embedding_skip import EmbeddingSkip
from regard.parts.experts import Experts, Feed
from regard.parts.feed import GELU, GeGLU, NoFeed, ReLU, SiLU, SquaredReLU, SwiGLU, TanhGELU
from regard.parts.init import Init, XavierInit, ZeroInit
from regard.parts.masks import Causal, From, Mask, MaskTensor, Nearby, Padding, Prefix, SameDocument
from regard.parts.multihead import MultiHead
from regard.parts.norms import LayerNorm, NoNorm, Norm, RMSNorm
from regard.parts.pool import ClassToken, Mean, Pool, Query
from regard.parts.positions import (
    ALiBi,
    Grid,
    Learned,
    LinearScaling,
    Llama3Scaling,
    NoPosition,
    Position,
    Positions,
    Rotary,
    Shaw,
    Sinusoid,
    T5Bias,
    Tree,
)
from regard.parts.recurrent import GRU, LSTM, Cell
from regard.parts.softcap import Softcap
from regard.parts.stem import Convolutions, NoStem, Stem
from regard.parts.taps import listen
from regard.parts.wiring import NoResidual, PostNorm, PreNorm, Wiring

__all__ = [
    "GELU",
    "GRU",
    "LSTM",
    "ALiBi",
    "Additive",
    "Attention",
    "BigBird",
    "BigramEmbedding",
    "Block",
    "Cache",
    "Causal",
    "Cell",
    "ClassToken",
    "Compressed",
    "Convolutions",
    "EmbeddingSkip",
    "Experts",
    "Feed",
    "From",
    "Full",
    "GeGLU",
    "Grid",
    "Init",
    "KVCache",
    "LayerNorm",
    "Learned",
    "LinearScaling",
    "Linformer",
    "Llama3Scaling",
    "Mask",
    "MaskTensor",
    "Mean",
    "MultiHead",
    "Nearby",
    "NoFeed",
    "NoNorm",
    "NoPosition",
    "NoResidual",
    "NoStem",
    "Norm",
    "Padding",
    "Pool",
    "Position",
    "Positions",
    "PostNorm",
    "PreNorm",
    "Prefix",
    "Query",
    "RMSNorm",
    "ReLU",
    "Rotary",
    "SameDocument",
    "ScalableSoftmax",
    "Shaw",
    "SiLU",
    "Sinusoid",
    "Softcap",
    "SquaredReLU",
    "Stack",
    "Stem",
    "SwiGLU",
    "T5Bias",
    "TanhGELU",
    "Tree",
    "Window",
    "Wiring",
    "XavierInit",
    "ZeroInit",
    "listen",
]  # fmt: skip
