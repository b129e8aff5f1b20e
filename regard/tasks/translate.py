"""Translate: a source text becomes a target text, for every model that reads one and writes the other."""

from dataclasses import dataclass

from torch import nn

from regard.core.batches import Loss
from regard.core.errors import share
from regard.data.text.pairs import PairBatch
from regard.tasks.targets import target_loss


@dataclass(frozen=True)
class Translate:
    smoothing: float = 0.1  # share of the answer spread over all words (Szegedy et al., 2016)
    unit = "tokens"

    def __post_init__(self) -> None:
        share(smoothing=self.smoothing)

    def loss(self, model: nn.Module, batch: PairBatch) -> Loss:
        return target_loss(model, batch, self.smoothing if model.training else 0.0)
