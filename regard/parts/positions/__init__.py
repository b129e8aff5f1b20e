"""The position codes, one file each. `Position` is their table: the config reader and the tests read it."""

from regard.parts.positions.alibi import ALiBi
from regard.parts.positions.base import NoPosition, PositionConfig, PositionEncoding, Positions
from regard.parts.positions.combined import Combined
from regard.parts.positions.grid import Grid
from regard.parts.positions.learned import Learned
from regard.parts.positions.rope_scaling import (
    DynamicScaling,
    LinearScaling,
    Llama3Scaling,
    LongScaling,
    Scaling,
    YarnScaling,
)
from regard.parts.positions.rotary import Rotary
from regard.parts.positions.shaw import Shaw
from regard.parts.positions.sinusoid import Sinusoid
from regard.parts.positions.t5_bias import T5Bias
from regard.parts.positions.tree import Tree, tree_depth, tree_distance

Position = NoPosition | Sinusoid | Grid | Learned | Shaw | Tree | Rotary | ALiBi | T5Bias | Combined

__all__ = [
    "ALiBi", "Combined", "DynamicScaling", "Grid", "Learned", "LinearScaling", "Llama3Scaling", "LongScaling",
    "NoPosition", "Position", "PositionConfig", "PositionEncoding", "Positions", "Rotary", "Scaling", "Shaw",
    "Sinusoid", "T5Bias", "Tree", "YarnScaling", "tree_depth", "tree_distance",
]  # fmt: skip
