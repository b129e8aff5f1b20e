"""Distilled estimators: the classifier and the regressor with students in place of networks, and without rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from sklearn.utils.validation import check_is_fitted

from regard.core.errors import ConfigError, UserError
from regard.tables.distillation.student import NO_ROWS, StudentPredictor
from regard.tables.encode.columns import Columns, name_features
from regard.tables.encode.table import EncodedTable
from regard.tables.estimators.classifier import NPTClassifier
from regard.tables.estimators.regressor import NPTRegressor
from regard.tables.predictor import Predictor


@dataclass(frozen=True)
class Target:
    """A target of a distilled model."""

    name: str | None
    class_counts: Sequence[int]  # training rows of each class; none for a number
    predictor: StudentPredictor


class Distilled:
    """What both share: nothing can be fitted again, and there are no rows to show."""

    class_counts_: list[torch.Tensor]

    def set_students(self, columns: Columns, targets: Sequence[Target], seed: int, rows: int) -> None:
        """Take the place of `fit`."""
        self.columns_, self.seed_, self.training_rows_ = columns, seed, rows
        self.n_features_in_ = len(columns.columns)
        name_features(self, columns)
        self.multi_output_ = len(targets) > 1
        self.target_names_ = [one.name for one in targets]
        self.class_counts_ = [torch.tensor(one.class_counts) for one in targets]
        self.predictors_: list[Predictor] = [one.predictor for one in targets]
        category = torch.tensor(columns.is_category)
        self.rows_, self.keys_ = torch.empty(0, dtype=torch.long), pd.DataFrame()
        self.tables_ = [
            EncodedTable(torch.empty(0, len(category)), category, torch.empty(0), len(one.class_counts))
            for one in targets
        ]

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, unlabelled: Any = None) -> Any:
        raise ConfigError("a distilled model is not fitted: fit an NPT estimator, then distil it")

    def evidence(self, X: Any, top: int = 5) -> Any:
        raise UserError(NO_ROWS)

    def add(self, X: Any, y: Any) -> Any:
        raise UserError(NO_ROWS)

    def drift(self, X: Any) -> Any:
        raise UserError(NO_ROWS)

    def report(self, X: Any = None, y: Any = None) -> Any:
        raise UserError(NO_ROWS)

    def class_counts(self, number: int) -> torch.Tensor:
        return self.class_counts_[number]

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write a run folder, for `regard.load` and the command line. It contains no training rows."""
        from regard.tables.persist.save_distilled import save_distilled

        check_is_fitted(self, "predictors_")
        save_distilled(self, Path(path), overwrite=overwrite)


class DistilledClassifier(Distilled, NPTClassifier):
    """Predicts classes as an `NPTClassifier` does that it has learned from; made by `regard.tables.distil`."""


class DistilledRegressor(Distilled, NPTRegressor):
    """Predicts numbers as an `NPTRegressor` does that it has learned from; made by `regard.tables.distil`."""
