"""Copying: a word of the target is either generated or pointed at in the source (See et al., 2017).

The pointer is one head of the common attention over the source; its pattern is a distribution over the words there. A
gate mixes it with the distribution over the vocabulary, so names and numbers that are rare in training can be written.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from regard.core.config import Config
from regard.core.shapes import Logits, Memory, Source, States
from regard.parts.attention import Full
from regard.parts.linear import Linear
from regard.parts.masks import Mask
from regard.parts.taps import Tap

RARE = -2.0  # the gate's bias at first: an eighth of each word is copied
TINY = 1e-9  # probability of a word that is not in the source, so that its logarithm is finite


@dataclass(frozen=True)
class Copy(Config):
    """A pointer over the source beside the scores of the vocabulary."""

    def build(self, width: int) -> "Pointer":
        return Pointer(width)


class Pointer(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.query, self.key, self.gate = Linear(width, width), Linear(width, width), Linear(width, 1)
        self.attend = Full().build(1, width)
        self.pattern = Tap()

    @torch.no_grad()
    def init_weights(self) -> None:
        nn.init.constant_(self.gate.bias, RARE)

    def forward(self, logits: Logits, states: States, memory: Memory, source: Source, mask: Mask | None) -> Logits:
        """The log-probabilities of the mixture; beams of one text share a row of the memory."""
        beams = len(states) // len(memory)
        queries = self.query(states).unflatten(0, (-1, beams)).flatten(1, 2)[:, None]
        keys = self.key(memory)[:, None]
        pattern = self.attend.watch(queries, keys, keys, mask)[1]
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
