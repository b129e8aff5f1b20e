"""Tree positions: depth in the dependency tree as the place, steps through it as the distance (Wang et al., 2019)."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from regard.core.errors import ConfigError, UserError, at_least, at_most
from regard.core.shapes import States
from regard.core.sizes import MAX_LENGTH
from regard.parts.attention.base import Bias
from regard.parts.masks import Index
from regard.parts.positions.base import PositionConfig, Positions
from regard.parts.positions.shaw import ShawBias, ShawEncoding
from regard.parts.positions.sinusoid import waves

NO_TREE = "Tree positions need a dependency tree beside each sentence (CoNLL-U); none was given"


@dataclass(frozen=True)
class Tree(PositionConfig):
    reach: int = 16  # longer paths through the tree count as this long
    base: float = 10000.0
    relates = True

    def __post_init__(self) -> None:
        at_least(0, reach=self.reach)
        at_most(MAX_LENGTH, reach=self.reach)

    def build(self, width: int, heads: int, head_size: int, causal: bool) -> "TreeEncoding":
        if causal:
            raise ConfigError("Tree positions need the parse of a whole sentence: a decoder that writes has none yet")
        return TreeEncoding(self.reach, head_size, self.base)


class TreeEncoding(ShawEncoding):
    def __init__(self, reach: int, size: int, base: float):
        super().__init__(reach, size)
        self.base = base

    def embed(self, x: States, positions: Positions) -> States:
        if positions.depth is None:
            raise UserError(NO_TREE)
        return x + waves(positions.depth, x.shape[-1], self.base).to(x.dtype)

    def bias(self, positions: Positions) -> Bias:
        if positions.distance is None:
            raise UserError(NO_TREE)
        return TreeBias(self.table, self.reach, positions.distance)


class TreeBias(ShawBias):
    def __init__(self, table: Tensor, reach: int, steps: Int[Tensor, "batch length length"]):
        super().__init__(table, reach)
        self.steps = steps

    def distance(self, query: Index, key: Index) -> Tensor:
        return self.steps[:, *torch.broadcast_tensors(query, key)]


def tree_depth(heads: Sequence[int]) -> list[int]:
    """Steps from each word to the root; `heads[i]` is the word that i hangs from, -1 for the root."""
    return [len(path) - 1 for path in _paths(heads)]


def tree_distance(heads: Sequence[int]) -> list[list[int]]:
    """Steps between every two words through their common ancestor, negative where the other word stands to the left."""
    depth = tree_depth(heads)
    steps = [[0] * len(heads) for _ in heads]
    above: list[int] = []
    for word in sorted(range(len(heads)), key=depth.__getitem__):  # from a word to those above it: one step to its head
        head = heads[word]
        for other in above:
            far = 1 + (steps[head][other] if head >= 0 else 1 + depth[other])  # two roots hang from what is no word
            steps[word][other] = steps[other][word] = far
        above.append(word)
    return [[-far if other < word else far for other, far in enumerate(row)] for word, row in enumerate(steps)]


def _paths(heads: Sequence[int]) -> list[list[int]]:
    """For each word the words from the root down to it."""
    paths = []
    for word in range(len(heads)):
        path = [word]
        while (head := heads[path[-1]]) >= 0:
            if head >= len(heads) or len(path) > len(heads):
                raise UserError(f"word {word + 1} of {len(heads)} does not hang from the root: heads {list(heads)}")
            path.append(head)
        paths.append(path[::-1])
    return paths
