"""The extractor: the span of a document that is the best summary of it, as far as a linear model can tell.

Used when the network is not expected to do better. Fitted in seconds, it learns from a few
hundred documents which sentences matter, and which of their words.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float32

from regard.core import tensors
from regard.core.config import Config
from regard.core.errors import UserError, at_least
from regard.tasks.summarise.spans import BITS, best_span


@dataclass(frozen=True)
class Extract(Config):
    """A linear model of the spans of a document beside the network, fitted before training starts."""

    documents: int = 4000  # to learn from: a random part of more

    def __post_init__(self) -> None:
        at_least(1, documents=self.documents)


@dataclass(frozen=True)
class Extracted:
    text: str
    score: float  # the ROUGE-L that the model expects, from 0 to 1


@dataclass(frozen=True)
class Extractor:
    weight: Float32[np.ndarray, " feature"]
    mean: float  # ROUGE-L of a span in training
    max_words: int  # words of a span; sentences may be longer

    def best(self, text: str) -> Extracted:
        return Extracted(*best_span(text, self.weight, self.mean, self.max_words))

    def save(self, path: Path) -> None:
        numbers = {"mean": torch.tensor(self.mean), "max_words": torch.tensor(self.max_words)}
        tensors.save(path, {"weight": torch.from_numpy(self.weight), **numbers})


def load_extractor(path: Path) -> Extractor:
    """The extractor of a run folder; a file that is none is refused."""
    stored = tensors.load(path)
    tensors.check_finite(stored, path)
    names = {"weight", "mean", "max_words"}
    if set(stored) != names or stored["weight"].shape != (1 << BITS,) or int(stored["max_words"]) < 1:
        raise UserError(f"{path}: is not the extractor of a summariser; train the run again")
    return Extractor(stored["weight"].float().numpy(), float(stored["mean"]), int(stored["max_words"]))
