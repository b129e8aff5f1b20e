"""GPT: a decoder by itself, which writes a text left to right (Radford et al., 2018)."""

from dataclasses import dataclass

from torch import nn

from regard.core.errors import at_least
from regard.core.shapes import Logits, Tokens
from regard.parts.cache import Cache
from regard.parts.embed import Words
from regard.parts.masks import Causal, Mask
from regard.parts.positions import Places, Position, Rotary
from regard.parts.start import begin
from regard.parts.trunk import Trunk


@dataclass(frozen=True, kw_only=True)
class GPT(Trunk):
    vocab: int = 0  # 0: counted from the data when a run is made
    position: Position = Rotary()
    tied: bool = True  # the head shares the table of the words

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(0, vocab=self.vocab)

    def build(self) -> "GPTModel":
        return GPTModel(self)


class GPTModel(nn.Module):
    def __init__(self, config: GPT):
        super().__init__()
        self.config = config
        self.words = Words(config.vocab, config.width, tied=config.tied)
        self.drop = nn.Dropout(config.dropout)
        self.decoder = config.stack(causal=True)
        begin(self, self.decoder.blocks)

    def forward(
        self, tokens: Tokens, mask: Mask | None = None, places: Places | None = None, cache: Cache | None = None
    ) -> Logits:
        """Scores of the word after each token.

        Padding on the right needs no mask: nothing before it can look there. A mask of your own can only hide more.
        """
        start = cache.length if cache else 0
        places = places or Places.counting(tokens.shape[1], start, tokens.device)
        x = self.drop(self.decoder.position.embed(self.words(tokens), places))
        mask = Causal() if mask is None else Causal() & mask
        return self.words.logits(self.decoder(x, mask, places, cache=cache))

    def begin(self, capacity: int = 64) -> Cache:
        """An empty state for `step`."""
        return Cache(self.config.layers, capacity)

    def step(self, tokens: Tokens, state: Cache) -> tuple[Logits, Cache]:
        """Read `tokens`; the scores after each of them, and the state that has read them."""
        return self(tokens, cache=state), state
