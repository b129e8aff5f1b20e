"""Tables: rows that look at other rows.

NPTClassifier().fit(table, answers).predict(new_rows)
NPTClassifier().fit(table, answers).evidence(new_rows)       # which rows decided
NPTImputer().fit_transform(table)                            # gaps filled
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regard.tables.estimator import NPTClassifier, NPTRegressor
    from regard.tables.evidence import Evidence
    from regard.tables.imputer import NPTImputer

__all__ = ["Evidence", "NPTClassifier", "NPTImputer", "NPTRegressor"]


def __getattr__(name: str) -> Any:
    """scikit-learn takes a second to import; who trains on text, and only shares a plan with tables, need not wait."""
    from importlib import import_module

    homes = {"Evidence": "evidence", "NPTImputer": "imputer", "NPTClassifier": "estimator", "NPTRegressor": "estimator"}
    if name not in homes:
        raise AttributeError(f"module 'regard.tables' has no attribute {name!r}")
    return getattr(import_module(f"regard.tables.{homes[name]}"), name)
