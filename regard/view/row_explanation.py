"""Explanation of one row's prediction: the training rows with the largest weight, and the important columns."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
from sklearn.base import is_classifier

from regard.core.errors import UserError
from regard.tables import NPTClassifier, NPTRegressor
from regard.tables.data_checks import check_new_data
from regard.tables.distillation.student import NO_ROWS
from regard.tables.encode.cells import is_missing
from regard.tables.estimators.distilled import Distilled
from regard.tables.explain import Evidence
from regard.tables.plain_numbers import plain_number
from regard.tables.predictions import predict_targets, sentence
from regard.tables.rows_by_cell import as_table, check_row
from regard.tasks.recording import ViewInput

TOP = 12  # training rows that are shown
MAX_CHOICES = 200  # categories that a drop-down list offers

Estimator = NPTClassifier | NPTRegressor


@dataclass(frozen=True)
class RowExplanation:
    input: ViewInput
    summary: str  # the prediction as a sentence
    prediction: Any  # a class, or a number
    target: str  # name of the target column
    probabilities: tuple[tuple[str, float], ...]  # of the classes; for regression the quantiles
    names: tuple[str, ...] = ()  # columns of the training rows: keys first, then by effect
    keys: int = 0  # how many of these are keys, which say which row it is
    rows: tuple[tuple[int, float, str, tuple[str, ...]], ...] = ()  # number, weight, target, cells; heaviest first
    columns: tuple[tuple[str, float], ...] = ()  # effect of each column on the prediction, largest first
    errors: tuple[float, ...] = ()  # standard errors of these effects
    base: float = 0.0  # the average prediction for training rows, from which the effects lead to this one
    is_probability: bool = False  # whether that of the predicted class is explained, or the predicted number
    notes: tuple[str, ...] = ()
    context_rows: int = 0  # training rows with any weight


def explain_row(estimator: Estimator, input: ViewInput) -> RowExplanation:
    """Predict the row, with the training rows and columns that the prediction depends on."""
    frame = as_row(estimator, input.row or {})
    first = predict_targets(estimator, frame)[0]
    probabilities = tuple(
        (name.removeprefix("p_"), float(value)) for name, value in zip(first.names, first.values[0], strict=True)
    )
    if is_classifier(estimator):
        probabilities = tuple(sorted(probabilities, key=lambda one: -one[1]))
    notes = tuple(check_new_data(estimator.columns_, frame))
    if estimator.multi_output_:
        notes += (f"the first of {len(estimator.predictors_)} targets; `regard explain` shows all",)
    evidence = estimator.evidence(frame, TOP)
    [evidence] = evidence[0] if estimator.multi_output_ else evidence
    if evidence.own_row is not None:
        notes += (f"row {evidence.own_row} of the training data is this row itself, and is left out below",)
    cells = _by_importance(evidence)
    rows = tuple(
        (int(number), float(weight), _text(label), tuple(map(_text, row)))
        for number, weight, label, row in zip(
            evidence.rows.index, evidence.rows.iloc[:, 0], evidence.rows.iloc[:, 1], cells.to_numpy(), strict=True
        )
    )
    return RowExplanation(
        input=input,
        summary=sentence(first),
        prediction=_plain(first.predictions[0]),
        target=first.target,
        probabilities=probabilities,
        names=tuple(map(str, cells.columns)),
        keys=len(evidence.keys),
        rows=rows,
        columns=tuple((str(name), float(effect)) for name, effect in evidence.columns["effect"].items()),
        errors=tuple(map(float, evidence.columns["error"])),
        base=evidence.base,
        is_probability=evidence.is_probability,
        notes=notes,
        context_rows=evidence.context,
    )


def _by_importance(evidence: Evidence) -> pd.DataFrame:
    """The cells of the training rows: those of the keys, then those of the columns with the largest effect."""
    cells = evidence.rows.iloc[:, 2:]  # after weight and target
    return cells[[*evidence.keys, *(name for name in evidence.columns.index if name not in evidence.keys)]]


def _plain(value: Any) -> Any:
    """A value that JSON can hold."""
    return value.item() if hasattr(value, "item") else value


def as_row(estimator: Estimator, cells: Mapping[str, str]) -> pd.DataFrame:
    """Cells as text, as a table of one row. A cell that is empty or absent is missing."""
    check_row(estimator, cells)
    return as_table(estimator, [cells])


def example_row(estimator: Estimator) -> dict[str, Any]:
    """The first training row, with which the page begins: its number in the table, its keys and its target."""
    code = estimator.tables_[0].target[0]
    labels = (
        (estimator.classes_[0] if estimator.multi_output_ else estimator.classes_) if is_classifier(estimator) else ()
    )
    target = labels[int(code)] if len(labels) else plain_number(float(code), 7)
    keys = {name: _text(cells.iloc[0]) for name, cells in estimator.keys_.items()}
    return {"row": int(estimator.rows_[0]), "keys": keys, "target": _text(_plain(target))}


def form_fields(estimator: Estimator) -> list[dict[str, Any]]:
    """A form field for each column, filled with the first training row."""
    if isinstance(estimator, Distilled):
        raise UserError(NO_ROWS)
    example = estimator.columns_.decode(estimator.tables_[0].values[:1].numpy()).iloc[0]
    return [
        {
            "name": column.name,
            "kind": column.kind,
            "range": column.summary,
            "choices": [str(one) for one in column.categories] if len(column.categories) <= MAX_CHOICES else [],
            "value": _text(cell),
        }
        for column, cell in zip(estimator.columns_.columns, example, strict=True)
    ]


def _text(cell: Any) -> str:
    if is_missing(cell):
        return ""
    if isinstance(cell, pd.Timestamp):
        return str(cell.date()) if cell == cell.normalize() else str(cell)
    return f"{cell:.7g}" if isinstance(cell, float) else str(cell)
