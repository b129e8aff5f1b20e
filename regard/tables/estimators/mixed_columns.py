"""What estimators of tables tell scikit-learn about their input: numbers and categories, text, missing cells."""

from typing import Any

from sklearn.base import BaseEstimator


class MixedColumns(BaseEstimator):
    """An estimator that reads columns of all kinds, and missing cells."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags
