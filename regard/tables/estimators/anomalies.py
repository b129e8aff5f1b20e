"""NPTAnomalies: rows that are surprising, with the cells that make them so."""

import logging
from collections.abc import Mapping
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from sklearn.base import OutlierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from regard.core.errors import ConfigError
from regard.tables.anomalies.columns import role_of, show_value
from regard.tables.anomalies.scoring import CellScorer, CellScores, Scored
from regard.tables.encode.columns import Columns, name_features
from regard.tables.encode.frames import as_frame
from regard.tables.estimators.mixed_columns import MixedColumns
from regard.tables.network.pretrained import pretrained_model
from regard.tables.threads import threads

logger = logging.getLogger("regard.tables")


class NPTAnomalies(OutlierMixin, MixedColumns):
    """Finds the rows of a table that are surprising, given the others.

    Every cell is predicted from the other cells of its row, in the context of other rows; nothing is trained. Its
    surprise, in bits beyond what was to be expected, is that of the cell in its column or given the rest of its row,
    whichever is larger; that of a row is the norm over its cells. Identifiers and texts are not scored. A row of the
    table of `fit` is scored without itself.

    Parameters
    ----------
    contamination
        Fraction of the rows of `fit` that `predict` calls anomalies.
    members
        Ensemble members for each column; more are more accurate and slower.
    max_context
        Rows, at most, that a column is predicted from; more are more accurate and slower.
    weights
        Run folder of `regard pretrain tables` to use instead of the shipped weights.
    kinds
        Kinds of columns by name (number, category, date, text) where inference is wrong.
    """

    def __init__(
        self,
        *,
        contamination: float = 0.05,
        members: int = 1,
        max_context: int = 1000,
        weights: str | Path | None = None,
        kinds: Mapping[str, str] | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ):
        self.contamination = contamination
        self.members = members
        self.max_context = max_context
        self.weights = weights
        self.kinds = kinds
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> "NPTAnomalies":
        """Read the table and score its rows, each without itself."""
        self._check()
        frame = as_frame(X)
        kinds = dict(self.kinds or {})
        self.columns_, cells = Columns.fit_encode(frame, kinds, None)
        self.n_features_in_ = frame.shape[1]
        name_features(self, self.columns_)
        self.seed_ = int(check_random_state(self.random_state).randint(2**31 - 1))
        matched = self.columns_.match(frame)
        self.roles_ = {column.name: role_of(column.name, each, kinds.get(column.name)) for column, each in matched}
        self.scored_ = [
            Scored(column.name, self.roles_[column.name], tuple(places))
            for column, places in zip(self.columns_.columns, self.columns_.positions(), strict=True)
            if self.roles_[column.name] in ("levels", "numbers")
        ]
        if not self.scored_:
            raise ConfigError("there is no column to score: all are identifiers, texts or empty")
        values, category = torch.from_numpy(cells.values), torch.from_numpy(cells.category)
        with torch.random.fork_rng(devices=[]):  # leave the caller's random state alone
            model = pretrained_model(self.weights)
        self.scorer_ = CellScorer(model, values, category, self.scored_, self.members, self.max_context, self.seed_)
        self.training_ = self._score(values)
        self.offset_ = float(np.quantile(-self.training_.total, self.contamination))
        return self

    def score_samples(self, X: Any) -> np.ndarray:
        """How normal each row is: minus its surprise in bits. Higher is more normal, as in scikit-learn."""
        return -self.cell_scores(X).total

    def decision_function(self, X: Any) -> np.ndarray:
        """`score_samples` minus the score from which on `predict` calls a row normal."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> np.ndarray:
        """-1 for anomalies, 1 for the others."""
        return np.where(self.decision_function(X) < 0, -1, 1)

    def explain(self, X: Any, top: int = 3) -> list[pd.DataFrame]:
        """For each row its most surprising cells: value, what was expected, and the surprise in bits."""
        if top < 1:
            raise ConfigError(f"top: must be at least 1, not {top}")
        return self.explain_cells(as_frame(X), self.cell_scores(X), top)

    def cell_scores(self, X: Any) -> CellScores:
        """The surprise of every cell, and what was expected."""
        check_is_fitted(self, "scorer_")
        return self._score(torch.from_numpy(self.columns_.encode(as_frame(X), type(self).__name__).values))

    def explain_cells(self, frame: pd.DataFrame, scores: CellScores, top: int, rows: Any = None) -> list[pd.DataFrame]:
        """As `explain`, of scores that are there already; `rows` are the places of those to explain, by default all."""
        columns = {column.name: (column, cells) for column, cells in self.columns_.match(frame)}
        explained = []
        for row in range(len(frame)) if rows is None else rows:
            cells = []
            for place in (-scores.bits[row]).argsort(kind="stable")[:top]:
                column, values = columns[self.scored_[place].name]
                expected, low, high = (
                    show_value(column, float(part[row, place])) for part in (scores.expected, scores.low, scores.high)
                )
                value = values.iloc[row]
                probability = float(scores.probability[row, place])
                cells.append((column.name, value, expected, low, high, probability, float(scores.bits[row, place])))
            names = ["column", "value", "expected", "low", "high", "probability", "surprise"]
            explained.append(pd.DataFrame(cells, columns=names))
        return explained

    def _score(self, values: Tensor) -> CellScores:
        with threads(self.n_jobs):
            return self.scorer_.score(values)

    def _check(self) -> None:
        if not 0 < self.contamination <= 0.5:
            raise ConfigError(f"contamination: must be above 0 and at most 0.5, not {self.contamination}")
        for name in ("members", "max_context"):
            if not isinstance(getattr(self, name), Integral):
                raise ConfigError(f"{name}: must be a whole number, not {getattr(self, name)!r}")
            if getattr(self, name) < 1:
                raise ConfigError(f"{name}: must be at least 1, not {getattr(self, name)}")
