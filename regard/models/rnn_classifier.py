"""A text's label by recurrence: one state is carried from either end, and the head reads what they passed by."""

from dataclasses import dataclass

from torch import nn

from regard.core.errors import MANY, ConfigError, at_least, at_most, share
from regard.core.model import ModelConfig
from regard.core.shapes import Labels, Tokens, Valid
from regard.core.sizes import MAX_WIDTH
from regard.models.heads import ClassifierHead
from regard.parts.dropout import Dropout
from regard.parts.embed import TokenEmbedding
from regard.parts.init import init_weights
from regard.parts.norms import LayerNorm
from regard.parts.positions import Positions
from regard.parts.recurrent import LSTM, Cell


@dataclass(frozen=True, kw_only=True)
class RNNClassifier(ModelConfig):
    vocab: int = 0  # 0: counted from the data when a run is made
    width: int = 256
    layers: int = 1
    cell: Cell = LSTM()
    head: ClassifierHead = ClassifierHead(pooling="mean")
    dropout: float = 0.2

    def __post_init__(self) -> None:
        if self.width < 2 or self.width % 2:
            raise ConfigError(f"width: must be even (half reads each way), not {self.width}")
        if self.head.pooling == "first":
            raise ConfigError(
                "head.pooling: what an RNN knows at the first token came from one side; choose mean or max"
            )
        at_least(0, vocab=self.vocab)
        at_least(1, layers=self.layers)
        at_most(MANY, layers=self.layers)
        at_most(MAX_WIDTH, width=self.width)
        share(dropout=self.dropout)

    @property
    def classifies_text(self) -> bool:
        return True

    def build(self) -> "RNNClassifierModel":
        return RNNClassifierModel(self)


class RNNClassifierModel(nn.Module):
    def __init__(self, config: RNNClassifier):
        super().__init__()
        self.config = config
        width = config.width
        self.embedding = TokenEmbedding(config.vocab, width)
        self.drop = Dropout(config.dropout)
        inner = config.dropout if config.layers > 1 else 0.0
        self.encoder = config.cell.build(width, width // 2, config.layers, inner, bidirectional=True)
        self.head = config.head.build(width, LayerNorm(), config.dropout)
        init_weights(self)

    def forward(self, tokens: Tokens, valid: Valid | None = None, positions: Positions | None = None) -> Labels:
        """Scores of the labels. A token that is not valid is nothing; of positions an RNN knows the order alone."""
        x = self.drop(self.embedding(tokens))
        within = None
        if valid is not None:  # hidden tokens may stand inside a text: it ends after the last that is shown
            x = x * valid[:, :, None]
            within = valid.long().flip(1).cumsum(1).flip(1) > 0
            within[:, 0] = True
        states, _ = self.encoder(x, valid=within)
        scores: Labels = self.head(states, valid)
        return scores
