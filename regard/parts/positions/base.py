"""What every position code is: three places where order may enter, each of which does nothing unless a code says so."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.core.config import Config
from regard.core.shapes import States
from regard.parts.attention.base import Bias


@dataclass(frozen=True)
class Positions:
    """Where each token stands: its number in the text and, where a parse is known, its place in the tree."""

    index: Int[Tensor, "#batch length"]  # a batch of 1 serves all rows
    depth: Int[Tensor, "batch length"] | None = None  # steps to the root
    distance: Int[Tensor, "batch length length"] | None = None  # steps between words, negative to the left

    @staticmethod
    def counting(length: int, start: int = 0, device: torch.device | str = "cpu") -> "Positions":
        return Positions(torch.arange(start, start + length, device=device)[None])

    def each(self, change: Callable[[Tensor], Tensor]) -> "Positions":
        """All of it changed alike, such as moved to a device."""
        depth, distance = (None if x is None else change(x) for x in (self.depth, self.distance))
        return Positions(change(self.index), depth, distance)

    def to(self, device: torch.device | str) -> "Positions":
        return self.each(lambda x: x.to(device))


class PositionConfig(Config):
    relates: ClassVar[bool]  # whether it adds to the score of each pair of tokens

    def build(self, width: int, heads: int, head_size: int, causal: bool) -> "PositionEncoding":
        raise NotImplementedError("abstract: a config builds its position encoding")


class PositionEncoding(nn.Module):
    max_length: int | None = None  # how many positions it knows; None: any number
    reads_length: bool = False  # whether it depends on the longest text of a batch

    def embed(self, x: States, positions: Positions) -> States:
        """Order as part of the token: added before the first block."""
        return x

    def turn(self, x: Float[Tensor, "batch heads length size"], positions: Positions) -> Tensor:
        """Order as a rotation of queries and keys."""
        return x

    def bias(self, positions: Positions) -> Bias | None:
        """Order as a term added to the scores."""
        return None


@dataclass(frozen=True)
class NoPosition(PositionConfig):
    """No order at all: the text is a bag of words."""

    relates = False

    def build(self, width: int, heads: int, head_size: int, causal: bool) -> PositionEncoding:
        return PositionEncoding()
