"""Other models of tables, to compare with: those of scikit-learn, and boosted trees of others where they are installed.

All have their own defaults, and read the same cells as our own network: numbers, codes of categories, gaps.
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

from regard.tables.cells import Cells

Peer = Callable[[Cells, bool, int], Any]  # of these columns, for classes or numbers, with this seed
MOST_CODES = 255  # of a category that histograms can take


def linear(cells: Cells, classifies: bool, seed: int) -> Any:
    model = LogisticRegression(max_iter=1000, random_state=seed) if classifies else Ridge()
    return make_pipeline(_even(cells), model)


def neighbours(cells: Cells, classifies: bool, seed: int) -> Any:
    return make_pipeline(_even(cells), KNeighborsClassifier() if classifies else KNeighborsRegressor())


def random_forest(cells: Cells, classifies: bool, seed: int) -> Any:
    kind = RandomForestClassifier if classifies else RandomForestRegressor
    return make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), kind(random_state=seed))


def histogram_boosting(cells: Cells, classifies: bool, seed: int) -> Any:
    kind = HistGradientBoostingClassifier if classifies else HistGradientBoostingRegressor
    few = np.nan_to_num(cells.values, nan=0.0).max(0) < MOST_CODES
    return kind(categorical_features=cells.category & few, random_state=seed)


def catboost(cells: Cells, classifies: bool, seed: int) -> Any:
    from catboost import CatBoostClassifier, CatBoostRegressor

    kind = CatBoostClassifier if classifies else CatBoostRegressor
    codes = np.flatnonzero(cells.category).tolist()
    model = kind(cat_features=codes, random_seed=seed, verbose=False, allow_writing_files=False)
    return make_pipeline(FunctionTransformer(partial(_texts, codes=codes)), model)


def xgboost(cells: Cells, classifies: bool, seed: int) -> Any:
    from xgboost import XGBClassifier, XGBRegressor

    return (XGBClassifier if classifies else XGBRegressor)(random_state=seed, verbosity=0)


def lightgbm(cells: Cells, classifies: bool, seed: int) -> Any:
    from lightgbm import LGBMClassifier, LGBMRegressor

    return (LGBMClassifier if classifies else LGBMRegressor)(random_state=seed, verbose=-1)


OF_SCIKIT_LEARN: dict[str, Peer] = {
    "linear": linear,
    "nearest neighbours": neighbours,
    "random forest": random_forest,
    "histogram boosting": histogram_boosting,
}


def peers() -> dict[str, Peer]:
    """Those that are here."""
    others = {"CatBoost": catboost, "XGBoost": xgboost, "LightGBM": lightgbm}
    return {
        **OF_SCIKIT_LEARN,
        **{name: peer for name, peer in others.items() if find_spec(peer.__name__) is not None},
    }


def _even(cells: Cells) -> ColumnTransformer:
    """For what measures distances or sums: medians for gaps, one deviation for all, a column for each category."""
    numbers = make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler())
    hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False, max_categories=100)
    places = np.flatnonzero(~cells.category), np.flatnonzero(cells.category)
    return ColumnTransformer([("numbers", numbers, places[0]), ("categories", hot, places[1])])


def _texts(values: np.ndarray, codes: list[int]) -> np.ndarray:
    """CatBoost wants categories as text, a gap among them."""
    cells = values.astype(object)
    for place in codes:
        cells[:, place] = [str(code) for code in values[:, place]]
    return cells
