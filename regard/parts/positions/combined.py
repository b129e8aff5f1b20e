"""Combined positions: one encoding is added to the token, another to the scores (MPNet, Song et al., 2020)."""

from dataclasses import dataclass

from regard.core.shapes import States
from regard.parts.attention.base import Bias
from regard.parts.positions.alibi import ALiBi
from regard.parts.positions.base import PositionConfig, PositionEncoding, Positions
from regard.parts.positions.learned import Learned
from regard.parts.positions.shaw import Shaw
from regard.parts.positions.sinusoid import Sinusoid
from regard.parts.positions.t5_bias import T5Bias


@dataclass(frozen=True)
class Combined(PositionConfig):
    embedding: Learned | Sinusoid = Learned()
    score: T5Bias | ALiBi | Shaw = T5Bias()
    relates = True

    def build(self, width: int, heads: int, head_size: int, causal: bool) -> "CombinedEncoding":
        return CombinedEncoding(
            self.embedding.build(width, heads, head_size, causal), self.score.build(width, heads, head_size, causal)
        )


class CombinedEncoding(PositionEncoding):
    def __init__(self, embedding: PositionEncoding, score: PositionEncoding):
        super().__init__()
        self.embedding, self.score = embedding, score
        self.max_length = embedding.max_length

    def embed(self, x: States, positions: Positions) -> States:
        return self.embedding.embed(x, positions)

    def bias(self, positions: Positions) -> Bias | None:
        return self.score.bias(positions)
