"""What a fit found, as data: how the table was read, the scores on held-out rows, and the notes."""

from collections.abc import Mapping, Sequence
from typing import Any

from regard.tables.encode.columns import Columns
from regard.tables.estimators.classifier import NPTClassifier
from regard.tables.estimators.regressor import NPTRegressor
from regard.tables.problem import Problem
from regard.tables.proposals import BY_COST, BY_F1


def fit_summary(
    problems: Sequence[Problem],
    columns: Columns,
    estimator: NPTClassifier | NPTRegressor,
    scores: Mapping[str, float],
    notes: Sequence[str],
) -> dict[str, Any]:
    problem = problems[0]
    thresholds = {name: value for name, value in scores.items() if name.rpartition(".")[2] in (BY_COST, BY_F1)}
    names = [str(one.target.name) for one in problems]
    return {
        "target": names[0] if len(names) == 1 else names,
        "task": "classification" if problem.classifies else "regression",
        "reason": problem.reason,
        "rows": len(problem.target),
        "dropped": problem.dropped,
        "mode": estimator.mode,
        "columns": [
            {"name": one.name, "kind": one.kind, "filled": one.filled, "holds": one.summary} for one in columns.columns
        ],
        "ignored": list(estimator.keys_),
        "scores": {name: value for name, value in scores.items() if name not in thresholds},
        "thresholds": thresholds,
        "notes": list(notes),
    }
