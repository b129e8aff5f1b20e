"""Stacking: the network's scores are added to those of the n-gram model (Wolpert, 1992)."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float
from torch import Tensor

from regard.data.text.files import Row
from regard.tasks.classify.ngram_fit import Choice, Labels, fit_ngrams, refit_ngrams
from regard.tasks.classify.ngram_model import NgramModel, Ngrams


@dataclass(frozen=True)
class Stacked:
    """An n-gram model and its predictions of the training and validation texts, made without knowing their labels."""

    model: NgramModel
    choice: Choice
    train: Float[Tensor, "text label"]
    valid: Float[Tensor, "other label"]
    everything: tuple[list[str], Labels] | None  # training and validation texts, if they come from the same files

    def refit(self, path: Path) -> None:
        """Once a run is scored, validation texts that were held out of the training files are learned from too."""
        if self.everything is not None:
            texts, labels = self.everything
            refit_ngrams(texts, labels, len(self.model.bias), self.model.settings, self.choice).save(path)


def stack_ngrams(
    settings: Ngrams | None, rows: tuple[Sequence[Row], Sequence[Row]], labels: Sequence[str], *, refit: bool
) -> Stacked | None:
    if settings is None:
        return None
    (train, known), (valid, other) = (_texts_and_labels(part, labels) for part in rows)
    fitted = fit_ngrams(train, known, len(labels), settings)
    everything = ([*train, *valid], np.concatenate([known, other])) if refit else None
    return Stacked(fitted.model, fitted.choice, fitted.unseen, fitted.model.log_probabilities(valid), everything)


def _texts_and_labels(rows: Sequence[Row], labels: Sequence[str]) -> tuple[list[str], Labels]:
    numbers = {label: number for number, label in enumerate(labels)}
    return [row.fields[1] for row in rows], np.array([numbers[row.fields[0]] for row in rows], dtype=np.int64)
