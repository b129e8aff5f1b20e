"""NPTClassifier: classes of the rows of a table."""

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from regard.core.errors import ConfigError
from regard.tables.encode.target import Classes, target_columns, target_names
from regard.tables.estimators.base import TableEstimator


class NPTClassifier(ClassifierMixin, TableEstimator):
    """Predicts the class of each row of a table from training rows, by attention between rows."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, unlabelled: Any = None) -> "NPTClassifier":
        """Fit the columns and the classes; mode scratch also trains a network, the other modes keep the rows.

        `X` is a table: a data frame (pandas, polars, pyarrow) or a two-dimensional array. `y` holds a class for each
        row, or one column for each target. `sample_weight` holds a weight for each row. `unlabelled` are rows without
        a target, which mode scratch learns from with `transductive=True`. Returns the estimator.
        """
        columns = target_columns(y)
        encoded = [Classes.fit(column) for column in columns]
        for name, column in zip(target_names(y, len(columns)), columns, strict=True):
            try:
                check_classification_targets(column)
            except ValueError as error:
                raise ConfigError(f"y, {name!r}: {error}" if name else f"y: {error}") from None
        self.multi_output_ = len(encoded) > 1
        self.classes_ = [classes.labels for classes, _ in encoded] if self.multi_output_ else encoded[0][0].labels
        self._fit(X, y, [(codes, len(classes.labels)) for classes, codes in encoded], sample_weight, unlabelled)
        return self

    def predict_proba(self, X: Any) -> Any:
        """The probability of each class for each row of `X`, a table with the columns of `fit`.

        An array of shape (rows, classes), in the order of `classes_`; with several targets a list with one for each.
        """
        outputs = [output.double() for output in self._predictions(X)]
        probabilities = [(output / output.sum(1, keepdim=True)).numpy() for output in outputs]
        return probabilities if self.multi_output_ else probabilities[0]

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row of `X`, a table with the columns of `fit`.

        An array of shape (rows,); with several targets (rows, targets).
        """
        probabilities = self.predict_proba(X)
        if not self.multi_output_:
            return np.asarray(self.classes_)[probabilities.argmax(1)]
        predicted = [labels[each.argmax(1)] for labels, each in zip(self.classes_, probabilities, strict=True)]
        same_type = len({each.dtype.kind for each in predicted}) == 1  # otherwise numbers would become text
        return np.stack(predicted if same_type else [each.astype(object) for each in predicted], axis=1)

    def evidence(self, X: Any, top: int = 5) -> Any:
        """For each row of `X` the `top` training rows and all columns that its prediction depends on.

        A list of `Evidence`; with several targets one list for each.
        """
        check_is_fitted(self)
        labels = self.classes_ if self.multi_output_ else [self.classes_]
        codes = [table.target.long().numpy() for table in self.tables_]
        targets = [np.asarray(each)[code] for each, code in zip(labels, codes, strict=True)]
        return self._evidence(X, self.predict(X), targets, top)
