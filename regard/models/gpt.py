"""GPT: a decoder-only Transformer, which writes a text left to right (Radford et al., 2018)."""

from dataclasses import dataclass

from torch import nn

from regard.core.errors import ConfigError, at_least
from regard.core.shapes import Logits, States, Tokens
from regard.models.base import WritingModel
from regard.parts.cache import Cache
from regard.parts.dropout import Dropout
from regard.parts.embed import BigramEmbedding, TokenEmbedding
from regard.parts.init import ZeroInit, init_weights
from regard.parts.masks import Causal, From, Mask, join
from regard.parts.norms import Norm
from regard.parts.positions import Position, Positions, Rotary
from regard.parts.softcap import Softcap
from regard.parts.trunk import SequenceTrunk


@dataclass(frozen=True, kw_only=True)
class LeftToRight(SequenceTrunk):
    """The settings of a decoder by itself, whatever it reads."""

    vocab: int = 0  # 0: counted from the data when a run is made
    position: Position = Rotary()
    tied: bool = True  # the head shares the token embedding
    embed_scale: float = 1.0
    embed_norm: Norm | None = None  # of the embeddings
    logit_scale: float = 1.0
    logit_bias: bool = False
    bigram: BigramEmbedding | None = None  # a vector for each token together with the one before it
    logit_softcap: Softcap | None = None  # a bound on the scores

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(0, vocab=self.vocab)
        if isinstance(self.init, ZeroInit) and self.tied:
            raise ConfigError(
                "init: ZeroInit starts with large embeddings, which a tied head would score with: untie it"
            )


@dataclass(frozen=True, kw_only=True)
class GPT(LeftToRight):
    continues_text = True

    def build(self) -> "GPTModel":
        return GPTModel(self)


class GPTModel(WritingModel):
    def __init__(self, config: LeftToRight):
        super().__init__()
        self.config = config
        self.embedding = TokenEmbedding(
            config.vocab,
            config.width,
            tied=config.tied,
            scale=config.embed_scale,
            bias=config.logit_bias,
            logit_scale=config.logit_scale,
        )
        self.embed_norm = nn.Identity() if config.embed_norm is None else config.embed_norm.build(config.width)
        self.bigram = None if config.bigram is None else config.bigram.build(config.vocab, config.width)
        self.drop = Dropout(config.dropout)
        self.decoder = config.stack(causal=True)
        init_weights(self, self.decoder.blocks, init=config.init)
        if self.bigram is not None:
            nn.init.zeros_(self.bigram.table.weight)
        if isinstance(
            config.init, ZeroInit
        ):  # the stream is the embedding alone, at full size, and the first scores are 0
            nn.init.normal_(self.embedding.table.weight)
            if self.embedding.head is not None:
                nn.init.zeros_(self.embedding.head)

    def forward(
        self, tokens: Tokens, mask: Mask | None = None, positions: Positions | None = None, cache: Cache | None = None
    ) -> Logits:
        """Scores of the token after each one given.

        Padding on the right needs no mask: no token before it can look there. A mask can only hide more.
        """
        return self.scores(self.read(tokens, mask, positions, cache))

    def read(
        self, tokens: Tokens, mask: Mask | None = None, positions: Positions | None = None, cache: Cache | None = None
    ) -> States:
        """The final states, for a caller that needs the scores of few of them."""
        start = cache.length if cache else 0
        positions = positions or Positions.counting(tokens.shape[1], start, tokens.device)
        if cache is not None and cache.starts is not None:  # each row counts from its own first token
            positions = Positions(positions.index - cache.starts[:, None])
            mask = join(mask, From(cache.starts))
        x = self.embedding(tokens)
        if self.bigram is not None:
            x = x + self.bigram(tokens, cache.last if cache else None, positions.index)
        if cache is not None:
            cache.last = tokens[:, -1:]
        x = self.drop(self.embed_norm(self.decoder.position.embed(x, positions)))
        mask = Causal() if mask is None else Causal() & mask
        return self.decoder(x, mask, positions, cache=cache)

    def scores(self, states: States) -> Logits:
        logits = self.embedding.logits(states)
        return logits if self.config.logit_softcap is None else self.config.logit_softcap.apply(logits)

    @property
    def max_positions(self) -> int | None:
        return self.decoder.position.max_length

    @property
    def joins_texts(self) -> bool:
        both = (self.config.attention, self.config.alternate)
        longest = any(getattr(part, "reads_length", False) for part in self.decoder.position.modules())
        return not longest and all(attention is None or attention.shift_invariant for attention in both)

    def init_state(self, capacity: int = 64) -> Cache:
        """An empty state for `step`."""
        return Cache(self.config.layers, capacity)

    def step(self, tokens: Tokens, state: Cache) -> tuple[Logits, Cache]:
        """Read `tokens`; the scores after each of them, and the state that has read them."""
        return self(tokens, cache=state), state
