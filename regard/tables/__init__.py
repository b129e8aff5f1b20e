"""Tables: estimators that predict a row by attention to other rows.

NPTClassifier().fit(table, target).predict(new_rows)
NPTClassifier().fit(table, target).evidence(new_rows)        # which training rows decided
NPTImputer().fit_transform(table)                            # missing cells filled
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regard.tables.any_column import retarget
    from regard.tables.drift import Drift
    from regard.tables.estimators.classifier import NPTClassifier
    from regard.tables.estimators.imputer import NPTImputer
    from regard.tables.estimators.regressor import NPTRegressor
    from regard.tables.explain import Evidence

__all__ = ["Drift", "Evidence", "NPTClassifier", "NPTImputer", "NPTRegressor", "retarget"]

_MODULES = {
    "Drift": "drift",
    "Evidence": "explain",
    "NPTClassifier": "estimators.classifier",
    "NPTImputer": "estimators.imputer",
    "NPTRegressor": "estimators.regressor",
    "retarget": "any_column",
}


def __getattr__(name: str) -> Any:
    """Imported on first use: scikit-learn takes a second to import, and a plan of a text needs none of it."""
    from importlib import import_module

    from regard.core.imports import uncollected

    if name not in _MODULES:
        raise AttributeError(f"module 'regard.tables' has no attribute {name!r}")
    with uncollected():
        return getattr(import_module(f"regard.tables.{_MODULES[name]}"), name)
