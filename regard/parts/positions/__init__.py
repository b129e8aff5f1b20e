"""The position codes, one file each. `Position` is their table: the config reader and the tests read it."""

from regard.parts.positions.alibi import ALiBi
from regard.parts.positions.base import NoPosition, Places, PositionCode
from regard.parts.positions.buckets import Buckets
from regard.parts.positions.grid import Grid
from regard.parts.positions.learned import Learned
from regard.parts.positions.relative import Relative
from regard.parts.positions.rotary import Rotary, Stretch, StretchSlow
from regard.parts.positions.sinusoid import Sinusoid
from regard.parts.positions.tree import Tree, tree_depth, tree_distance

Position = NoPosition | Sinusoid | Grid | Learned | Relative | Tree | Rotary | ALiBi | Buckets

__all__ = [
    "ALiBi", "Buckets", "Grid", "Learned", "NoPosition", "Places", "Position", "PositionCode", "Relative", "Rotary",
    "Sinusoid", "Stretch", "StretchSlow", "Tree", "tree_depth", "tree_distance",
]  # fmt: skip
