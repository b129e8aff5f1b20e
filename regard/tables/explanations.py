"""Explanations of some rows of a table: one for each row and target, and a table of all their effects.

Each row is explained by itself, so its effects do not depend on which other rows are asked for.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from regard.tables.encode.keys import shown_cell
from regard.tables.estimators.classifier import NPTClassifier
from regard.tables.estimators.regressor import NPTRegressor
from regard.tables.explain import Evidence
from regard.tables.predictions import TargetPredictions, predict_targets, rounded
from regard.tables.progress import report

EFFECT = "effect_"  # before the name of a column


@dataclass(frozen=True)
class Explanation:
    """Why one target of one row is predicted as it is."""

    row: int  # in its table, from 0
    cells: pd.Series
    prediction: TargetPredictions
    evidence: Evidence

    @property
    def target(self) -> str:
        return self.prediction.target

    @property
    def keys(self) -> dict[str, object]:
        """The cells that say which row it is, if its table has them."""
        return {name: shown_cell(self.cells[name]) for name in self.evidence.keys if name in self.cells}


def explain_rows(
    estimator: NPTClassifier | NPTRegressor, frame: pd.DataFrame, rows: Sequence[int], top: int
) -> Iterator[Explanation]:
    """The explanations of some rows, with the `top` training rows of each; all targets of a row together."""
    for number, row in enumerate(rows):
        report(f"row {number + 1:,} of {len(rows):,}")
        query = frame.iloc[[row]]
        evidence = estimator.evidence(query, top)
        by_target = evidence if estimator.multi_output_ else [evidence]
        for prediction, (one,) in zip(predict_targets(estimator, query), by_target, strict=True):
            yield Explanation(row, frame.iloc[row], prediction, one)


def effects_table(explanations: Sequence[Explanation]) -> pd.DataFrame:
    """A row for each explanation: keys, prediction, average and the effect of each column, the largest first."""
    effects = pd.DataFrame([one.evidence.columns["effect"].to_dict() for one in explanations])
    order = effects.abs().mean().sort_values(ascending=False, kind="stable").index
    known: dict[str, Any] = {"row": [one.row for one in explanations]}
    if len({one.target for one in explanations}) > 1:
        known["target"] = [one.target for one in explanations]
    known["prediction"] = rounded(np.array([one.prediction.predictions[0] for one in explanations]))
    if explanations[0].evidence.is_probability:
        known["probability"] = rounded(np.array([one.evidence.value for one in explanations]))
    known["average"] = rounded(np.array([one.evidence.base for one in explanations]))
    named = {f"{EFFECT}{name}": rounded(effects[name].to_numpy()) for name in order}
    keys = pd.DataFrame([one.keys for one in explanations])
    taken = {name: f"{name} (in the table)" for name in keys if name in known or name in named}
    table = pd.concat([keys.rename(columns=taken), pd.DataFrame(known | named)], axis=1)
    return table[["row", *(name for name in table if name != "row")]]
