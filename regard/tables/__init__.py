"""Tables: estimators that predict a row by attention to other rows.

NPTClassifier().fit(table, target).predict(new_rows)
NPTClassifier().fit(table, target).evidence(new_rows)        # the training rows with the largest weight
NPTImputer().fit_transform(table)                            # missing cells filled
NPTAnomalies().fit(table).explain(table)                     # surprising rows and cells
Forecaster(time="date", value="units", horizon=28).forecast(table).table
distil(fitted, to="tree")                                    # a small model without training rows
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regard.tables.any_column import retarget
    from regard.tables.distillation.distil import distil
    from regard.tables.drift import Drift
    from regard.tables.estimators.anomalies import NPTAnomalies
    from regard.tables.estimators.classifier import NPTClassifier
    from regard.tables.estimators.distilled import DistilledClassifier, DistilledRegressor
    from regard.tables.estimators.imputer import NPTImputer
    from regard.tables.estimators.regressor import NPTRegressor
    from regard.tables.explain import Evidence
    from regard.tables.forecast.forecaster import Forecast, Forecaster

__all__ = [
    "DistilledClassifier",
    "DistilledRegressor",
    "Drift",
    "Evidence",
    "Forecast",
    "Forecaster",
    "NPTAnomalies",
    "NPTClassifier",
    "NPTImputer",
    "NPTRegressor",
    "distil",
    "retarget",
]

_MODULES = {
    "DistilledClassifier": "estimators.distilled",
    "DistilledRegressor": "estimators.distilled",
    "Drift": "drift",
    "Evidence": "explain",
    "Forecast": "forecast.forecaster",
    "Forecaster": "forecast.forecaster",
    "NPTAnomalies": "estimators.anomalies",
    "NPTClassifier": "estimators.classifier",
    "NPTImputer": "estimators.imputer",
    "NPTRegressor": "estimators.regressor",
    "distil": "distillation.distil",
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
