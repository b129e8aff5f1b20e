"""Sequence to sequence by recurrence, with and without attention (Sutskever et al., 2014; Bahdanau, 2015; Luong, 2015).

Without attention the decoder knows the source only through the state that the encoder ends in. With it, every step
looks back at all the encoder's states: the same operator that the Transformer is made of.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from regard.core.errors import MANY, ConfigError, at_least, at_most, share
from regard.core.model import ModelConfig
from regard.core.shapes import Logits, Memory, Source, SourceValid, States, Tokens
from regard.core.sizes import MAX_WIDTH
from regard.models.base import WritingModel
from regard.parts.attention import Additive, Full
from regard.parts.cache import KVCache, other_texts
from regard.parts.dropout import Dropout
from regard.parts.embed import TokenEmbedding
from regard.parts.init import init_weights
from regard.parts.linear import Linear
from regard.parts.masks import Padding
from regard.parts.multihead import MultiHead
from regard.parts.padded_recurrence import Carry
from regard.parts.positions import Positions
from regard.parts.recurrent import LSTM, Cell, both_directions


@dataclass(frozen=True, kw_only=True)
class RNN(ModelConfig):
    reads_source = True

    vocab: int = 0  # 0: counted from the data when a run is made
    target_vocab: int | None = None  # None: source and target share one vocabulary and one table
    width: int = 256
    layers: int = 1
    cell: Cell = LSTM()
    attention: Full | Additive | None = None  # None: only the encoder's last state is carried over
    dropout: float = 0.2
    tied: bool = True

    def __post_init__(self) -> None:
        if self.width < 2 or self.width % 2:
            raise ConfigError(f"width: must be even (half reads each way), not {self.width}")
        at_least(0, vocab=self.vocab)
        at_least(1, target_vocab=self.target_vocab, layers=self.layers)
        at_most(MANY, layers=self.layers)
        at_most(MAX_WIDTH, width=self.width)
        share(dropout=self.dropout)

    def build(self) -> "RNNModel":
        return RNNModel(self)


@dataclass(frozen=True)
class RNNState:
    """What the decoder holds while it writes."""

    memory: Memory
    valid: SourceValid | None
    carry: Carry

    memory_cache: KVCache | None = None  # keys and values of the memory, while a text is written
    beams: int = 1  # rows of the carry that share a row of memory

    def select(self, rows: Tensor, beams: int = 1) -> "RNNState":
        carried = replace(self, carry=tuple(part[:, rows] for part in self.carry), beams=beams)
        texts = other_texts(rows, beams, len(self.memory), self.beams)
        if texts is None:
            return carried
        if self.memory_cache is not None:
            self.memory_cache.select(texts)
        return replace(carried, memory=self.memory[texts], valid=None if self.valid is None else self.valid[texts])


class RNNModel(WritingModel):
    def __init__(self, config: RNN):
        super().__init__()
        self.config = config
        width = config.width
        inner = config.dropout if config.layers > 1 else 0.0
        shared = config.target_vocab is None
        self.embedding = TokenEmbedding(config.vocab, width, tied=config.tied if shared else True)
        self.target_embedding = None if shared else TokenEmbedding(config.target_vocab or 0, width, tied=config.tied)
        self.drop = Dropout(config.dropout)
        self.encoder = config.cell.build(width, width // 2, config.layers, inner, bidirectional=True)
        self.decoder = RecurrentDecoder(config, inner)
        init_weights(self)

    def forward(self, source: Source, target: Tokens, source_valid: SourceValid | None = None) -> Logits:
        return self.step(target, self.read(source, source_valid))[0]

    def init_state(
        self, source: Source, valid: SourceValid | None = None, positions: Positions | None = None
    ) -> RNNState:
        """The state for `step`: the source is read once, in the order of its tokens; other positions are not used."""
        return replace(self.read(source, valid), memory_cache=KVCache(1))

    def read(self, source: Source, valid: SourceValid | None = None) -> RNNState:
        memory, carry = self.encoder(self.drop(self.embedding(source)), valid=valid)
        return RNNState(memory, valid, both_directions(carry))

    def step(self, tokens: Tokens, state: RNNState) -> tuple[Logits, RNNState]:
        embedding = self.target_embedding or self.embedding
        x, carry = self.decoder(self.drop(embedding(tokens)), state)
        return embedding.logits(self.drop(x)), replace(state, carry=carry)


class RecurrentDecoder(nn.Module):
    def __init__(self, config: RNN, inner_dropout: float):
        super().__init__()
        self.cells = config.cell.build(config.width, config.width, config.layers, inner_dropout, bidirectional=False)
        self.cross = MultiHead(config.width, 1, config.attention) if config.attention else None
        self.combine = Linear(2 * config.width, config.width) if config.attention else None

    def forward(self, x: States, state: RNNState) -> tuple[States, Carry]:
        states, carry = self.cells(x, state.carry)
        if self.cross is not None and self.combine is not None:
            padding = None if state.valid is None else Padding(state.valid)
            attended = self.cross(states, state.memory, padding, cache=state.memory_cache)
            states = torch.tanh(self.combine(torch.cat([states, attended], -1)))
        return states, carry
