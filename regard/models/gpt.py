"""GPT: a decoder by itself, which writes a text left to right (Radford et al., 2018)."""

from dataclasses import dataclass

import torch
from torch import nn

from regard.core.errors import ConfigError, at_least
from regard.core.shapes import Logits, States, Tokens
from regard.parts.cache import Cache
from regard.parts.dropout import Dropout
from regard.parts.embed import BigramEmbedding, TokenEmbedding
from regard.parts.init import init_weights
from regard.parts.masks import Causal, Mask
from regard.parts.positions import Position, Positions, Rotary
from regard.parts.trunk import Trunk


@dataclass(frozen=True, kw_only=True)
class LeftToRight(Trunk):
    """The settings of a decoder by itself, whatever it is given to read."""

    vocab: int = 0  # 0: counted from the data when a run is made
    position: Position = Rotary()
    tied: bool = True  # the head shares the table of the words
    pairs: bool = False  # a vector for each token together with the one before it
    cap: float | None = None  # scores are bent to stay within it

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(0, vocab=self.vocab)
        if self.cap is not None and not self.cap > 0:
            raise ConfigError(f"cap: must be more than 0, not {self.cap}")
        if self.quiet and self.tied:
            raise ConfigError("quiet: begins with words at full size, and a tied head would shout them; set tied false")


@dataclass(frozen=True, kw_only=True)
class GPT(LeftToRight):
    def build(self) -> "GPTModel":
        return GPTModel(self)


class GPTModel(nn.Module):
    def __init__(self, config: LeftToRight):
        super().__init__()
        self.config = config
        self.embedding = TokenEmbedding(config.vocab, config.width, tied=config.tied)
        self.pairs = BigramEmbedding(config.vocab, config.width) if config.pairs else None
        self.drop = Dropout(config.dropout)
        self.decoder = config.stack(causal=True)
        init_weights(self, self.decoder.blocks, quiet=config.quiet)
        if self.pairs is not None:
            nn.init.zeros_(self.pairs.table.weight)
        if config.quiet:  # then words speak at full size, and the head waits to be told
            nn.init.normal_(self.embedding.table.weight)
            if self.embedding.head is not None:
                nn.init.zeros_(self.embedding.head)

    def forward(
        self, tokens: Tokens, mask: Mask | None = None, positions: Positions | None = None, cache: Cache | None = None
    ) -> Logits:
        """Scores of the word after each token.

        Padding on the right needs no mask: nothing before it can look there. A mask of your own can only hide more.
        """
        return self.scores(self.read(tokens, mask, positions, cache))

    def read(
        self, tokens: Tokens, mask: Mask | None = None, positions: Positions | None = None, cache: Cache | None = None
    ) -> States:
        """The states that scores are made from: where few scores are wanted, the rest of them need not be made."""
        start = cache.length if cache else 0
        positions = positions or Positions.counting(tokens.shape[1], start, tokens.device)
        x = self.embedding(tokens)
        if self.pairs is not None:
            x = x + self.pairs(tokens, cache.last if cache else None, positions.index)
        if cache is not None:
            cache.last = tokens[:, -1:]
        x = self.drop(self.decoder.position.embed(x, positions))
        mask = Causal() if mask is None else Causal() & mask
        return self.decoder(x, mask, positions, cache=cache)

    def scores(self, states: States) -> Logits:
        logits = self.embedding.logits(states)
        return logits if self.config.cap is None else self.config.cap * torch.tanh(logits / self.config.cap)

    def init_state(self, capacity: int = 64) -> Cache:
        """An empty state for `step`."""
        return Cache(self.config.layers, capacity)

    def step(self, tokens: Tokens, state: Cache) -> tuple[Logits, Cache]:
        """Read `tokens`; the scores after each of them, and the state that has read them."""
        return self(tokens, cache=state), state
