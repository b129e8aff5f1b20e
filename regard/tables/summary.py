"""What a fit found, as data: how the table was read, the scores on held-out rows, and the notes."""

from collections.abc import Mapping, Sequence
from typing import Any

from regard.tables.encode.columns import Columns
from regard.tables.estimators.classifier import NPTClassifier
from regard.tables.estimators.regressor import NPTRegressor
from regard.tables.problem import Problem
from regard.tables.scores import NAMES


def fit_summary(
    problem: Problem,
    columns: Columns,
    estimator: NPTClassifier | NPTRegressor,
    scores: Mapping[str, float],
    notes: Sequence[str],
) -> dict[str, Any]:
    return {
        "target": str(problem.target.name),
        "task": "classification" if problem.classifies else "regression",
        "reason": problem.reason,
        "rows": len(problem.target),
        "dropped": problem.dropped,
        "mode": estimator.mode,
        "columns": [
            {"name": one.name, "kind": one.kind, "filled": one.filled, "holds": one.summary} for one in columns.columns
        ],
        "ignored": list(estimator.keys_),
        "scores": {name: value for name, value in scores.items() if name in NAMES},
        "thresholds": {name: value for name, value in scores.items() if name not in NAMES},
        "notes": list(notes),
    }
