"""Predictions of a table for rows in JSON: probabilities or quantiles, and on request what they depend on."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from regard.tables.encode.cells import is_missing
from regard.tables.explain import Evidence
from regard.tables.predictions import LEVELS, TargetPredictions, predict_targets
from regard.tables.rows_by_cell import Row, as_table, check_row


def predict_json(estimator: Any, rows: Sequence[Row], options: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """For each row the prediction of each target."""
    for place, row in enumerate(rows):
        check_row(estimator, row, f"rows[{place}]")
    frame = as_table(estimator, rows)
    levels = tuple(options.get("quantiles") or LEVELS)
    targets = predict_targets(estimator, frame, levels, options.get("threshold"))
    top = options.get("evidence") or 0
    evidence = estimator.evidence(frame, top) if top else None
    for place in range(len(rows)):
        predictions = [_prediction(one, place, levels) for one in targets]
        if evidence is not None:
            by_target = evidence if estimator.multi_output_ else [evidence]
            for one, of_target in zip(predictions, by_target, strict=True):
                one["evidence"] = _evidence(of_target[place])
        yield {"predictions": predictions}


def example(estimator: Any) -> dict[str, Any]:
    """A row for a person to begin with: the first training row, where the model holds its rows."""
    tables = getattr(estimator, "tables_", None)
    if not tables or not len(tables[0].values):
        return {column.name: None for column in estimator.columns_.columns}
    first = estimator.columns_.decode(tables[0].values[:1].numpy()).iloc[0]
    return {str(name): plain(cell) for name, cell in first.items()}


def _prediction(one: TargetPredictions, row: int, levels: Sequence[float]) -> dict[str, Any]:
    values = [plain(value) for value in one.values[row]]
    names = [name.removeprefix("p_") for name in one.names] if one.classifies else [f"{level:g}" for level in levels]
    kind = "probabilities" if one.classifies else "quantiles"
    return {
        "target": one.target,
        "prediction": plain(one.predictions[row]),
        kind: dict(zip(names, values, strict=True)),
    }


def _evidence(one: Evidence) -> dict[str, Any]:
    rows = [
        {
            "row": int(number),
            "weight": plain(cells.iloc[0]),
            "target": plain(cells.iloc[1]),
            "cells": {str(name): plain(cell) for name, cell in cells.iloc[2:].items()},
        }
        for number, cells in one.rows.iterrows()
    ]
    effects = one.columns["effect"].items()
    return {
        "rows": rows,
        "columns": [{"column": str(name), "effect": plain(effect)} for name, effect in effects],
        "base": plain(one.base),
        "value": plain(one.value),
    }


def plain(value: Any) -> Any:
    """A value that JSON can hold."""
    if is_missing(value):
        return None
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, str | int | bool) else str(value)
