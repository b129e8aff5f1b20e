"""The peers, as they come out of the box: their own defaults, their own way with texts and missing cells.

Two exceptions. Logistic regression may take 1,000 iterations, so that it ends. scikit-learn's default Gaussian process
keeps the length of its kernel fixed and believes in no noise; here it learns both, as every textbook has it.
"""

from typing import Any

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from .columns import Categories, codes, one_hot, strings
from .files import Array
from .methods import Method, Setup


def catboost(setup: Setup) -> Any:
    from catboost import CatBoostClassifier, CatBoostRegressor

    kind = CatBoostClassifier if setup.classifies else CatBoostRegressor
    quiet = {"verbose": False, "allow_writing_files": False}
    model = kind(cat_features=list(setup.texts), random_seed=setup.seed, thread_count=setup.threads, **quiet)
    return make_pipeline(strings(), model)


def xgboost(setup: Setup) -> Any:
    from xgboost import XGBClassifier, XGBRegressor

    kind = XGBClassifier if setup.classifies else XGBRegressor
    model = kind(enable_categorical=True, random_state=setup.seed, n_jobs=setup.threads, verbosity=0)
    return make_pipeline(Categories(), model)


def lightgbm(setup: Setup) -> Any:
    from lightgbm import LGBMClassifier, LGBMRegressor

    kind = LGBMClassifier if setup.classifies else LGBMRegressor
    return make_pipeline(Categories(), kind(random_state=setup.seed, n_jobs=setup.threads, verbose=-1))


def random_forest(setup: Setup) -> Any:
    kind = RandomForestClassifier if setup.classifies else RandomForestRegressor
    return make_pipeline(codes(), kind(random_state=setup.seed, n_jobs=setup.threads))


def hist_boosting(setup: Setup) -> Any:
    kind = HistGradientBoostingClassifier if setup.classifies else HistGradientBoostingRegressor
    return make_pipeline(Categories(), kind(random_state=setup.seed, categorical_features="from_dtype"))


def linear(setup: Setup) -> Any:
    kind = LogisticRegression(max_iter=1000, random_state=setup.seed) if setup.classifies else Ridge()
    return make_pipeline(one_hot(), kind)


def knn(setup: Setup) -> Any:
    kind = KNeighborsClassifier if setup.classifies else KNeighborsRegressor
    return make_pipeline(one_hot(), kind(n_jobs=setup.threads))


def mlp(setup: Setup) -> Any:
    if setup.classifies:
        return make_pipeline(one_hot(), MLPClassifier(random_state=setup.seed))
    return make_pipeline(one_hot(), _standardised(MLPRegressor(random_state=setup.seed)))


def gaussian_process(setup: Setup) -> Any:
    kernel = ConstantKernel() * RBF()
    if setup.classifies:
        model = GaussianProcessClassifier(kernel, random_state=setup.seed, n_jobs=setup.threads)
    else:
        model = _standardised(GaussianProcessRegressor(kernel + WhiteKernel(), random_state=setup.seed))
    return make_pipeline(one_hot(), FunctionTransformer(_near), model)


def _near(features: Array) -> Array:
    """Distances do not grow with the number of columns, so that a kernel of length one is a fair start."""
    return np.asarray(features / np.sqrt(features.shape[1]))


def _standardised(model: Any) -> TransformedTargetRegressor:
    return TransformedTargetRegressor(model, transformer=StandardScaler())


PEERS = {
    "catboost": Method(catboost, ("catboost",)),
    "xgboost": Method(xgboost, ("xgboost",)),
    "lightgbm": Method(lightgbm, ("lightgbm",)),
    "random_forest": Method(random_forest, ("sklearn",)),
    "hist_boosting": Method(hist_boosting, ("sklearn",)),
    "linear": Method(linear, ("sklearn",)),
    "knn": Method(knn, ("sklearn",)),
    "mlp": Method(mlp, ("sklearn",)),
    "gaussian_process": Method(gaussian_process, ("sklearn",), most_rows=1_000),
}
