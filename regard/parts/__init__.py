"""The parts: what every model is made of. Each family has one signature and one union, which is its table."""

from regard.parts.adapter import Adapter, LoRA
from regard.parts.attention import Additive, Attention, BigBird, Compressed, Full, Linformer, ScalableSoftmax, Window
from regard.parts.blocks import Block, Stack
from regard.parts.cache import Cache, KVCache
from regard.parts.copy import Copy
from regard.parts.embed import BigramEmbedding
from regard.parts.embedding_skip import EmbeddingSkip
from regard.parts.experts import Experts, Feed
from regard.parts.feed import GELU, ExactGeGLU, GeGLU, NoFeed, ReLU, SiLU, SquaredReLU, SwiGLU, TanhGELU
from regard.parts.init import Init, XavierInit, ZeroInit
from regard.parts.masks import Causal, From, Mask, MaskTensor, Nearby, Padding, Prefix, SameDocument
from regard.parts.multihead import MultiHead
from regard.parts.neighbours import Neighbours
from regard.parts.norms import AcrossHeads, LayerNorm, NoNorm, Norm, RMSNorm
from regard.parts.pool import ClassAndMean, ClassToken, Mean, Pool, Query
from regard.parts.positions import (
    ALiBi,
    Combined,
    DynamicScaling,
    Grid,
    Learned,
    LinearScaling,
    Llama3Scaling,
    LongScaling,
    NoPosition,
    Position,
    Positions,
    Rotary,
    Shaw,
    Sinusoid,
    T5Bias,
    Tree,
    YarnScaling,
)
from regard.parts.recurrent import GRU, LSTM, Cell
from regard.parts.residual_scale import LayerScale
from regard.parts.softcap import Softcap
from regard.parts.stem import Convolutions, NoStem, Stem
from regard.parts.taps import listen
from regard.parts.wiring import BranchNorm, NoResidual, Parallel, PostNorm, PreNorm, Sandwich, SharedNorm, Wiring

__all__ = [
    "GELU",
    "GRU",
    "LSTM",
    "ALiBi",
    "AcrossHeads",
    "Adapter",
    "Additive",
    "Attention",
    "BigBird",
    "BigramEmbedding",
    "Block",
    "BranchNorm",
    "Cache",
    "Causal",
    "Cell",
    "ClassAndMean",
    "ClassToken",
    "Combined",
    "Compressed",
    "Convolutions",
    "Copy",
    "DynamicScaling",
    "EmbeddingSkip",
    "ExactGeGLU",
    "Experts",
    "Feed",
    "From",
    "Full",
    "GeGLU",
    "Grid",
    "Init",
    "KVCache",
    "LayerNorm",
    "LayerScale",
    "Learned",
    "LinearScaling",
    "Linformer",
    "Llama3Scaling",
    "LoRA",
    "LongScaling",
    "Mask",
    "MaskTensor",
    "Mean",
    "MultiHead",
    "Nearby",
    "Neighbours",
    "NoFeed",
    "NoNorm",
    "NoPosition",
    "NoResidual",
    "NoStem",
    "Norm",
    "Padding",
    "Parallel",
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
    "Sandwich",
    "ScalableSoftmax",
    "SharedNorm",
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
    "YarnScaling",
    "ZeroInit",
    "listen",
]  # fmt: skip
