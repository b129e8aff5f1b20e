"""The n-gram model of a run: fitted on its training texts when the run starts, and on all texts once it is scored."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from regard.data.text.files import Row
from regard.tasks.classify.ngram_fit import Hyperparameters, Labels, fit_ngrams, refit_ngrams
from regard.tasks.classify.ngram_model import Ngrams


class NgramPart:
    def __init__(self, settings: Ngrams | None, labels: Sequence[str], train: Sequence[Row], more: Sequence[Row]):
        """`more` are validation texts that were held out of the training files; without settings nothing is fitted."""
        self.settings, self.labels, self.train, self.more = settings, labels, train, more
        self.hyperparameters: Hyperparameters | None = None

    def fit(self, path: Path) -> None:
        """Fit on the training texts and save."""
        if self.settings is not None:
            fitted = fit_ngrams(*self._texts_and_labels(self.train), len(self.labels), self.settings)
            self.hyperparameters = fitted.hyperparameters
            fitted.model.save(path)

    def refit(self, path: Path) -> None:
        """Fit on all texts, with what cross-validation chose before."""
        if self.settings is not None and self.hyperparameters is not None and self.more:
            texts, labels = self._texts_and_labels([*self.train, *self.more])
            refit_ngrams(texts, labels, len(self.labels), self.settings, self.hyperparameters).save(path)

    def _texts_and_labels(self, rows: Sequence[Row]) -> tuple[list[str], Labels]:
        numbers = {label: number for number, label in enumerate(self.labels)}
        return [row.fields[1] for row in rows], np.array([numbers[row.fields[0]] for row in rows], dtype=np.int64)
