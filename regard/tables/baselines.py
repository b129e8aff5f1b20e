"""Baselines to compare with: scikit-learn models, and CatBoost, XGBoost and LightGBM if they are installed.

All have their defaults, and read the same encoded cells as the networks: numbers, codes of categories, NaN.
"""

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from regard.tables.encode.cells import Cells

Baseline = Callable[[Cells, bool, int], Any]  # for these columns, classification or not, and this seed
MAX_CODES = 255  # of a category in scikit-learn's histogram boosting


def linear(cells: Cells, classifies: bool, seed: int) -> Any:
    model = LogisticRegression(max_iter=1000, random_state=seed) if classifies else Ridge()
    return make_pipeline(_preprocess(cells), model)


def neighbours(cells: Cells, classifies: bool, seed: int) -> Any:
    return make_pipeline(_preprocess(cells), KNeighborsClassifier() if classifies else KNeighborsRegressor())


def random_forest(cells: Cells, classifies: bool, seed: int) -> Any:
    kind = RandomForestClassifier if classifies else RandomForestRegressor
    return make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), kind(random_state=seed))


def histogram_boosting(cells: Cells, classifies: bool, seed: int) -> Any:
    kind = HistGradientBoostingClassifier if classifies else HistGradientBoostingRegressor
    few = np.nan_to_num(cells.values, nan=0.0).max(0) < MAX_CODES
    return kind(categorical_features=cells.category & few, random_state=seed)


def catboost(cells: Cells, classifies: bool, seed: int) -> Any:
    from catboost import CatBoostClassifier, CatBoostRegressor

    kind = CatBoostClassifier if classifies else CatBoostRegressor
    codes = np.flatnonzero(cells.category).tolist()
    model = kind(cat_features=codes, random_seed=seed, verbose=False, allow_writing_files=False)
    return make_pipeline(FunctionTransformer(partial(_as_text, codes=codes)), model)


def xgboost(cells: Cells, classifies: bool, seed: int) -> Any:
    from xgboost import XGBClassifier, XGBRegressor

    return (XGBClassifier if classifies else XGBRegressor)(random_state=seed, verbosity=0)


def lightgbm(cells: Cells, classifies: bool, seed: int) -> Any:
    from lightgbm import LGBMClassifier, LGBMRegressor

    return (LGBMClassifier if classifies else LGBMRegressor)(random_state=seed, verbose=-1)


SCIKIT_LEARN: dict[str, Baseline] = {
    "linear": linear,
    "nearest neighbours": neighbours,
    "random forest": random_forest,
    "histogram boosting": histogram_boosting,
}


def installed_baselines() -> dict[str, Baseline]:
    others = {"CatBoost": catboost, "XGBoost": xgboost, "LightGBM": lightgbm}
    return {
        **SCIKIT_LEARN,
        **{name: baseline for name, baseline in others.items() if find_spec(baseline.__name__) is not None},
    }


def _preprocess(cells: Cells) -> ColumnTransformer:
    """For linear models and distances: imputed medians, standardised numbers, one-hot categories."""
    numbers = make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler())
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False, max_categories=100)
    places = np.flatnonzero(~cells.category), np.flatnonzero(cells.category)
    return ColumnTransformer([("numbers", numbers, places[0]), ("categories", one_hot, places[1])])


def _as_text(values: np.ndarray, codes: list[int]) -> np.ndarray:
    """CatBoost takes categories as text, missing ones too."""
    cells = values.astype(object)
    for place in codes:
        cells[:, place] = [str(code) for code in values[:, place]]
    return cells
