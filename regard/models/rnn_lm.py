"""A language model by recurrence: all that was read is in the state that is carried along (Mikolov et al., 2010)."""

from dataclasses import dataclass

import torch
from torch import Tensor

from regard.core.errors import MANY, at_least, at_most, share
from regard.core.model import ModelConfig
from regard.core.shapes import Logits, Tokens
from regard.core.sizes import MAX_WIDTH
from regard.models.base import WritingModel
from regard.parts.dropout import Dropout
from regard.parts.embed import TokenEmbedding
from regard.parts.init import init_weights
from regard.parts.padded_recurrence import Carry
from regard.parts.recurrent import LSTM, Cell


@dataclass(frozen=True, kw_only=True)
class RNNLM(ModelConfig):
    continues_text = True

    vocab: int = 0  # 0: counted from the data when a run is made
    width: int = 256
    layers: int = 2
    cell: Cell = LSTM()
    dropout: float = 0.1
    tied: bool = True

    def __post_init__(self) -> None:
        at_least(0, vocab=self.vocab)
        at_least(1, width=self.width, layers=self.layers)
        at_most(MANY, layers=self.layers)
        at_most(MAX_WIDTH, width=self.width)
        share(dropout=self.dropout)

    def build(self) -> "RNNLMModel":
        return RNNLMModel(self)


@dataclass(frozen=True)
class RNNLMState:
    """What is known of all that came before; nothing at the start."""

    carry: Carry | None = None

    def select(self, rows: Tensor, beams: int = 1) -> "RNNLMState":
        return RNNLMState(None if self.carry is None else tuple(part[:, rows] for part in self.carry))

    def join(self, other: "RNNLMState") -> "RNNLMState":
        if self.carry is None or other.carry is None:
            return other if self.carry is None else self
        return RNNLMState(tuple(torch.cat(pair, 1) for pair in zip(self.carry, other.carry, strict=True)))


class RNNLMModel(WritingModel):
    def __init__(self, config: RNNLM):
        super().__init__()
        self.config = config
        self.embedding = TokenEmbedding(config.vocab, config.width, tied=config.tied)
        self.drop = Dropout(config.dropout)
        inner = config.dropout if config.layers > 1 else 0.0
        self.decoder = config.cell.build(config.width, config.width, config.layers, inner, bidirectional=False)
        init_weights(self)

    def forward(self, tokens: Tokens) -> Logits:
        """Scores of the word after each token."""
        return self.step(tokens, self.init_state())[0]

    @property
    def joins_texts(self) -> bool:
        return True

    def init_state(self, capacity: int = 0) -> RNNLMState:
        """An empty state for `step`; it never grows, so no capacity is laid out."""
        return RNNLMState()

    def step(self, tokens: Tokens, state: RNNLMState) -> tuple[Logits, RNNLMState]:
        x, carry = self.decoder(self.drop(self.embedding(tokens)), state.carry)
        return self.embedding.logits(self.drop(x)), RNNLMState(carry)
