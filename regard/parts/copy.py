"""Copying: a word of the target is either generated or pointed at in the source (See et al., 2017).

The pointer is one head of the common attention over the source; its pattern is a distribution over the words there. A
gate mixes it with the distribution over the vocabulary, so names and numbers that are rare in training can be written.

Whoever copies usually goes on copying: a place whose predecessor in the source is the word just written gets a bonus, a
learned number. Phrases can thus be copied from the first step of training on.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from regard.core.config import Config
from regard.core.shapes import Logits, Memory, Source, States, Tokens
from regard.parts.attention import Full
from regard.parts.linear import Linear
from regard.parts.masks import Index, Mask
from regard.parts.taps import Tap

BONUS = 4.0  # of the place after the word just written, at first
TINY = 1e-9  # probability of a word that is not in the source, so that its logarithm is finite


@dataclass(frozen=True)
class Copy(Config):
    """A pointer over the source beside the scores of the vocabulary."""

    def build(self, width: int) -> "Pointer":
        return Pointer(width)


@dataclass(frozen=True)
class Continues:
    """A bias: the bonus of places whose predecessor is the word just written."""

    bonus: Float[Tensor, "batch 1 length source"]

    def at(self, q: Float[Tensor, "batch heads *query size"], query: Index, key: Index) -> Float[Tensor, "..."]:
        return self.bonus.to(q.dtype)


class Pointer(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.query, self.key, self.gate = Linear(width, width), Linear(width, width), Linear(width, 1)
        self.bonus = nn.Parameter(torch.tensor(BONUS))
        self.attend = Full().build(1, width)
        self.pattern = Tap()

    def forward(
        self, logits: Logits, states: States, target: Tokens, memory: Memory, source: Source, mask: Mask | None
    ) -> Logits:
        """The log-probabilities of the mixture; beams of one text share a row of the memory."""
        beams = states.shape[0] // memory.shape[0]
        queries = self.query(states).unflatten(0, (-1, beams)).flatten(1, 2)[:, None]
        keys = self.key(memory)[:, None]
        written = target.unflatten(0, (-1, beams)).flatten(1, 2)[:, :, None]
        before = F.pad(source[:, :-1], (1, 0), value=-1)[:, None]
        bonus = Continues((self.bonus * (written == before))[:, None])
        pattern = self.attend.watch(queries, keys, keys, mask, bonus)[1]
        pattern = pattern[:, 0].unflatten(1, (beams, -1)).flatten(0, 1)
        if self.pattern.watched:
            self.pattern(pattern[:, None])
        copied = self._over_vocabulary(pattern, source.repeat_interleave(beams, 0), logits.shape[-1])
        gate = self.gate(states).float()
        generated = F.log_softmax(logits.float(), -1) + F.logsigmoid(-gate)
        return torch.logaddexp(generated, (copied + TINY).log() + F.logsigmoid(gate))

    def _over_vocabulary(
        self, pattern: Float[Tensor, "batch length source"], source: Source, vocab: int
    ) -> Float[Tensor, "batch length vocab"]:
        """The weight of every word: the sum over the places where it stands."""
        empty = pattern.new_zeros(*pattern.shape[:2], vocab, dtype=torch.float32)
        return empty.scatter_add(-1, source[:, None].expand(-1, pattern.shape[1], -1), pattern.float())
