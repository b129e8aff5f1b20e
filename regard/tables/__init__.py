"""Tables: rows that look at other rows.

NPTClassifier().fit(table, answers).predict(new_rows)
NPTClassifier().fit(table, answers).evidence(new_rows)       # which rows decided
NPTImputer().fit_transform(table)                            # gaps filled
"""

from regard.tables.estimator import NPTClassifier, NPTRegressor
from regard.tables.evidence import Evidence
from regard.tables.imputer import NPTImputer

__all__ = ["Evidence", "NPTClassifier", "NPTImputer", "NPTRegressor"]
