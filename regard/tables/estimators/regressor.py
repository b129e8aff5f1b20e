"""NPTRegressor: numbers of the rows of a table, with quantiles."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from regard.tables.encode.target import as_numbers, target_columns
from regard.tables.estimators.base import TableEstimator
from regard.tables.predictor import check_levels, interpolate_quantiles


class NPTRegressor(RegressorMixin, TableEstimator):
    """Predicts a number for each row of a table from training rows, by attention between rows."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, unlabelled: Any = None) -> "NPTRegressor":
        columns = target_columns(y)
        self.multi_output_ = len(columns) > 1
        self._fit(X, y, [(as_numbers(column), 0) for column in columns], sample_weight, unlabelled)
        return self

    def predict(self, X: Any, quantiles: Sequence[float] | np.ndarray | None = None) -> np.ndarray:
        """The mean of each row; or a column for each of these quantiles."""
        levels = [] if quantiles is None else [float(level) for level in quantiles]
        check_levels(levels)
        outputs = self._predictions(X)
        if quantiles is None:
            predicted = [output[:, 0].double().numpy() for output in outputs]
        else:
            predicted = [interpolate_quantiles(output, levels).double().numpy() for output in outputs]
        return np.stack(predicted, axis=1) if self.multi_output_ else predicted[0]

    def evidence(self, X: Any, top: int = 5) -> Any:
        """For each row the training rows and the columns that its prediction depends on.

        A list of `Evidence`; if there are several targets, one list for each.
        """
        check_is_fitted(self)
        return self._evidence(X, self.predict(X), [table.target.numpy() for table in self.tables_], top)
