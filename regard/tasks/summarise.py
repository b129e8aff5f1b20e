"""Summarise: a document becomes a short text, by every model that reads one and writes the other."""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import nn

from regard.core.batches import Loss
from regard.core.errors import at_least, share
from regard.data.text.pairs import PairBatch
from regard.tasks.targets import target_loss


@dataclass(frozen=True)
class Summarise:
    longest: int = 200  # tokens read of a document, to learn from it and to summarise it
    smoothing: float = 0.1  # share of the answer spread over all words (Szegedy et al., 2016)
    unit = "tokens"

    def __post_init__(self) -> None:
        at_least(1, longest=self.longest)
        share(smoothing=self.smoothing)

    def loss(self, model: nn.Module, batch: PairBatch) -> Loss:
        return target_loss(model, batch, self.smoothing if model.training else 0.0)


def first_words(texts: Sequence[str], count: int) -> list[str]:
    """The summary that nobody had to learn: how a document begins."""
    return [" ".join(text.split()[:count]) for text in texts]
