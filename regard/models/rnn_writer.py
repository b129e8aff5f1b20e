"""A language model by recurrence: all that was read is in the state that is carried along (Mikolov et al., 2010)."""

from dataclasses import dataclass

from torch import Tensor, nn

from regard.core.errors import MANY, at_least, at_most, share
from regard.core.shapes import Logits, Tokens
from regard.parts.dropout import Dropout
from regard.parts.embed import Words
from regard.parts.recurrent import LSTM, Carry, Cell
from regard.parts.start import begin


@dataclass(frozen=True, kw_only=True)
class RNNWriter:
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
        share(dropout=self.dropout)

    def build(self) -> "RNNWriterModel":
        return RNNWriterModel(self)


@dataclass(frozen=True)
class Carrying:
    """What is known of all that came before; nothing at the start."""

    carry: Carry | None = None

    def select(self, rows: Tensor, beams: int = 1) -> "Carrying":
        return Carrying(None if self.carry is None else tuple(part[:, rows] for part in self.carry))


class RNNWriterModel(nn.Module):
    def __init__(self, config: RNNWriter):
        super().__init__()
        self.config = config
        self.words = Words(config.vocab, config.width, tied=config.tied)
        self.drop = Dropout(config.dropout)
        inner = config.dropout if config.layers > 1 else 0.0
        self.decoder = config.cell.build(config.width, config.width, config.layers, inner, both_ways=False)
        begin(self)

    def forward(self, tokens: Tokens) -> Logits:
        """Scores of the word after each token."""
        return self.step(tokens, self.begin())[0]

    def begin(self, capacity: int = 0) -> Carrying:
        """An empty state for `step`; it never grows, so no capacity is laid out."""
        return Carrying()

    def step(self, tokens: Tokens, state: Carrying) -> tuple[Logits, Carrying]:
        x, carry = self.decoder(self.drop(self.words(tokens)), state.carry)
        return self.words.logits(self.drop(x)), Carrying(carry)
