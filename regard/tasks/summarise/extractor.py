"""The extractor: the span of a document that is the best summary of it, as far as a linear model can tell.

It is what a summariser says where its network is not likely to say it better; fitted in seconds, it learns from a few
hundred documents which sentences matter, and which of their words.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float32

from regard.core import tensors
from regard.core.config import Config
from regard.core.errors import UserError, at_least
from regard.tasks.summarise.spans import BITS, INSIDE, Document, Span, length_feature


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
    longest: int  # words of a span; sentences may be longer

    def best(self, text: str) -> Extracted:
        """The span with the highest score; a text without words is its own summary."""
        document = Document.of(text)
        spans = list(document.spans(self.longest))
        if not spans:
            return Extracted(text.strip(), 0.0)
        scores = self.scores(document, spans)
        place = int(scores.argmax())
        return Extracted(document.text(spans[place]), float(np.clip(scores[place], 0, 1)))

    def scores(self, document: Document, spans: Sequence[Span]) -> Float32[np.ndarray, " span"]:
        weight = self.weight
        inside = [np.cumsum([0.0, *INSIDE * weight[document.inside(n)]]) for n in range(len(document.words))]
        starts = {(n, first): weight[document.start(n, first)].sum() for n, first, _ in spans}
        ends = {(n, last): weight[document.end(n, last)].sum() for n, _, last in spans}
        lengths = {last - first: weight[length_feature(last - first)] for _, first, last in spans}
        scores = [
            starts[n, first] + ends[n, last] + lengths[last - first] + inside[n][last] - inside[n][first]
            for n, first, last in spans
        ]
        return np.array(scores, np.float32) + np.float32(self.mean)

    def save(self, path: Path) -> None:
        numbers = {"mean": torch.tensor(self.mean), "longest": torch.tensor(self.longest)}
        tensors.save(path, {"weight": torch.from_numpy(self.weight), **numbers})


def load_extractor(path: Path) -> Extractor:
    """The extractor of a run folder; a file that is none is refused."""
    stored = tensors.load(path)
    tensors.check_finite(stored, path)
    names = {"weight", "mean", "longest"}
    if set(stored) != names or stored["weight"].shape != (1 << BITS,) or int(stored["longest"]) < 1:
        raise UserError(f"{path}: is not the extractor of a summariser; train the run again")
    return Extractor(stored["weight"].float().numpy(), float(stored["mean"]), int(stored["longest"]))
