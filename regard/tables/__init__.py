"""Tables: rows that look at other rows.

NPTClassifier().fit(table, answers).predict(new_rows)
NPTClassifier().fit(table, answers).evidence(new_rows)       # which rows decided
"""

from regard.tables.estimator import NPTClassifier, NPTRegressor
from regard.tables.evidence import Evidence

__all__ = ["Evidence", "NPTClassifier", "NPTRegressor"]
