"""Columns made ready for each kind of peer, as its own documentation recommends; all is learned from training rows."""

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, StandardScaler

MISSING = "missing"
NUMBERS, TEXTS = make_column_selector(dtype_include="number"), make_column_selector(dtype_exclude="number")


def strings() -> FunctionTransformer:
    """For CatBoost: texts with a word for the missing ones; missing numbers are its own affair."""
    return FunctionTransformer(_strings)


def _strings(features: pd.DataFrame) -> pd.DataFrame:
    return features.assign(**{name: features[name].astype(object).fillna(MISSING) for name in TEXTS(features)})


class Categories(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """For boosted trees that know pandas categories: those of training; what they do not hold is missing.

    Columns are numbered, since some libraries refuse names with brackets or colons.
    """

    def fit(self, features: pd.DataFrame, target: object = None) -> "Categories":
        self.kinds_ = {name: pd.CategoricalDtype(sorted(features[name].dropna().unique())) for name in TEXTS(features)}
        return self

    def transform(self, features: pd.DataFrame) -> pd.DataFrame:
        made = {name: features[name] for name in features}
        for name, kind in self.kinds_.items():
            known = features[name].isin(kind.categories)
            made[name] = features[name].where(known, np.nan).astype(kind)
        return pd.DataFrame({f"column{place}": column for place, column in enumerate(made.values())})


def codes() -> ColumnTransformer:
    """For forests: a number for each text, the median for missing numbers."""
    ordinal = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-1)
    return ColumnTransformer([("numbers", _median(), NUMBERS), ("texts", ordinal, TEXTS)])


def one_hot() -> ColumnTransformer:
    """For what measures distances or sums: medians, one standard deviation for all, a column for each text."""
    hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    numbers: Pipeline = make_pipeline(_median(), StandardScaler())
    return ColumnTransformer([("numbers", numbers, NUMBERS), ("texts", hot, TEXTS)])


def _median() -> SimpleImputer:
    return SimpleImputer(strategy="median", keep_empty_features=True)
