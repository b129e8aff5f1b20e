"""NPTRegressor: numbers of the rows of a table, with quantiles."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from regard.tables.encode.target import as_numbers, target_columns
from regard.tables.estimators.base import TableEstimator
from regard.tables.predictor import interpolate_quantiles
from regard.tables.ranges import check_levels


class NPTRegressor(RegressorMixin, TableEstimator):
    """Predicts a number for each row of a table from training rows, by attention between rows."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, unlabelled: Any = None) -> "NPTRegressor":
        """Fit the columns and the target; mode scratch also trains a network, the other modes keep the rows.

        `X` is a table: a data frame (pandas, polars, pyarrow) or a two-dimensional array. `y` holds a number for each
        row, or one column for each target. `sample_weight` holds a weight for each row. `unlabelled` are rows without
        a target, which mode scratch learns from with `transductive=True`. Returns the estimator.
        """
        columns = target_columns(y)
        self.multi_output_ = len(columns) > 1
        self._fit(X, y, [(as_numbers(column), 0) for column in columns], sample_weight, unlabelled)
        return self

    def predict(self, X: Any, quantiles: Sequence[float] | np.ndarray | None = None) -> np.ndarray:
        """The predicted mean of each row of `X`, a table with the columns of `fit`; or the quantiles asked for.

        An array of shape (rows,); with `quantiles`, levels between 0 and 1, (rows, levels). With several targets the
        targets come second: (rows, targets) and (rows, targets, levels).
        """
        levels = [] if quantiles is None else [float(level) for level in quantiles]
        check_levels(levels)
        outputs = self._predictions(X)
        if quantiles is None:
            predicted = [output[:, 0].double().numpy() for output in outputs]
        else:
            predicted = [interpolate_quantiles(output, levels).double().numpy() for output in outputs]
        return np.stack(predicted, axis=1) if self.multi_output_ else predicted[0]

    def evidence(self, X: Any, top: int = 5) -> Any:
        """For each row of `X` the `top` training rows and all columns that its prediction depends on.

        A list of `Evidence`; with several targets one list for each.
        """
        check_is_fitted(self)
        return self._evidence(X, self.predict(X), [table.target.numpy() for table in self.tables_], top)
