"""A linear classifier of n-grams: TF-IDF weights of words, word pairs and pieces of words, and a score for each label.

It reads the whole text, knows no order beyond pairs of words, and learns from few texts. N-grams are hashed, so the
model holds numbers only: which buckets count, their weights, and nothing of the texts themselves.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Float32, Int64
from scipy import sparse
from torch import Tensor

from regard.core import tensors
from regard.core.config import Config
from regard.core.errors import ConfigError, UserError, at_least
from regard.tables.encode.ngrams import count_ngrams

FLOOR = 1e-3  # probability that is spread over all labels, so that no text rules one out
TEXTS_PER_PASS = 4096


@dataclass(frozen=True)
class Ngrams(Config):
    """A linear model of n-grams beside the network, fitted before training starts."""

    bits: int = 18  # of the hash: 2**bits buckets for words and word pairs, and as many for pieces of words
    max_characters: int = 10_000  # read of a text
    max_features: int = 200_000  # buckets with a weight: those that occur in most texts

    def __post_init__(self) -> None:
        at_least(1, max_characters=self.max_characters, max_features=self.max_features)
        if not 8 <= self.bits <= 24:
            raise ConfigError(f"bits: must be between 8 and 24, not {self.bits}")

    def count(self, texts: Sequence[str]) -> sparse.csr_array:
        """How often each n-gram occurs in each text; marks at both ends make pairs with the first and last words."""
        return count_ngrams(
            [f"⟪ {text[: self.max_characters]} ⟫" for text in texts], self.bits, self.max_characters + 4
        )


@dataclass(frozen=True)
class Features:
    """From counts to TF-IDF weights: pieces of words and whole words each have length one (Salton & Buckley, 1988)."""

    buckets: Int64[np.ndarray, " feature"]  # sorted
    idf: Float32[np.ndarray, " feature"]
    bits: int

    def weights(self, counts: sparse.csr_array) -> sparse.csr_array:
        place = np.full(2 << self.bits, -1, dtype=np.int64)
        place[self.buckets] = np.arange(len(self.buckets))
        feature = place[counts.indices]
        row = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))[feature >= 0]
        value = (1 + np.log(counts.data[feature >= 0])) * self.idf[feature[feature >= 0]]
        feature = feature[feature >= 0]
        half = 2 * row + (feature >= np.searchsorted(self.buckets, 1 << self.bits))
        norms = np.sqrt(np.bincount(half, weights=value**2, minlength=2 * counts.shape[0]))
        shape = (counts.shape[0], len(self.buckets))
        return sparse.csr_array((value / norms[half], (row, feature)), shape, dtype=np.float32)


@dataclass(frozen=True)
class NgramModel:
    settings: Ngrams
    features: Features
    weight: Float32[np.ndarray, "feature label"]
    bias: Float32[np.ndarray, " label"]

    def log_probabilities(self, texts: Sequence[str]) -> Float[Tensor, "text label"]:
        parts = [
            self.of_counts(self.settings.count(texts[first : first + TEXTS_PER_PASS]))
            for first in range(0, len(texts), TEXTS_PER_PASS)
        ]
        return torch.cat(parts) if parts else torch.empty(0, len(self.bias))

    def of_counts(self, counts: sparse.csr_array) -> Float[Tensor, "text label"]:
        return floored(torch.from_numpy(self.features.weights(counts) @ self.weight + self.bias))

    def save(self, path: Path) -> None:
        """Write the weights; the settings are in the config of the run."""
        arrays = {"buckets": self.features.buckets, "idf": self.features.idf, "weight": self.weight, "bias": self.bias}
        tensors.save(path, {name: torch.from_numpy(array) for name, array in arrays.items()})


def floored(scores: Float[Tensor, "text label"]) -> Float[Tensor, "text label"]:
    """Log-probabilities of scores, none of them below that of `FLOOR`."""
    probabilities = scores.float().softmax(-1)
    return ((1 - FLOOR) * probabilities + FLOOR / scores.shape[-1]).log()


def load_ngrams(path: Path, settings: Ngrams, labels: int) -> NgramModel:
    """The model of a run folder; one that does not fit its settings is refused."""
    stored = tensors.load(path)
    tensors.check_finite(stored, path)
    names = ("buckets", "idf", "weight", "bias")
    if set(stored) != set(names):
        raise UserError(f"{path}: must hold {', '.join(names)}, not {', '.join(sorted(stored)) or 'nothing'}")
    buckets, idf, weight, bias = (stored[name] for name in names)
    fits = buckets.ndim == 1 and not buckets.is_floating_point() and idf.shape == buckets.shape
    fits = fits and weight.shape == (len(buckets), labels) and bias.shape == (labels,)
    if not fits:
        raise UserError(f"{path}: does not fit the {labels} labels of the run; the file belongs to another run")
    if len(buckets) and (int(buckets.min()) < 0 or int(buckets.max()) >= 2 << settings.bits):
        raise UserError(f"{path}: has n-grams beyond task.ngrams.bits ({settings.bits}) of the run's config")
    features = Features(buckets.long().numpy(), idf.float().numpy(), settings.bits)
    return NgramModel(settings, features, weight.float().numpy(), bias.float().numpy())
