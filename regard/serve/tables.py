"""Predictions of a table for rows in JSON: probabilities or quantiles, and on request what they depend on."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from regard.core.errors import ConfigError, did_you_mean
from regard.tables.encode.cells import is_missing
from regard.tables.explain import Evidence
from regard.tables.predictions import LEVELS, TargetPredictions, predict_targets

Row = Mapping[str, Any]


def predict_json(estimator: Any, rows: Sequence[Row], options: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """For each row the prediction of each target."""
    frame = as_table(estimator, rows)
    levels = tuple(options.get("quantiles") or LEVELS)
    targets = predict_targets(estimator, frame, levels, options.get("threshold"))
    top = options.get("evidence") or 0
    evidence = estimator.evidence(frame, top) if top else None
    for row in range(len(rows)):
        predictions = [_prediction(one, row, levels) for one in targets]
        if evidence is not None:
            by_target = evidence if estimator.multi_output_ else [evidence]
            for one, of_target in zip(predictions, by_target, strict=True):
                one["evidence"] = _evidence(of_target[row])
        yield {"predictions": predictions}


def as_table(estimator: Any, rows: Sequence[Row]) -> pd.DataFrame:
    """Rows as a table with the columns of the training data; a key that is absent in a row is a missing cell."""
    columns = {column.name: column for column in estimator.columns_.columns}
    ignored = set(estimator.keys_)
    for place, row in enumerate(rows):
        for name, cell in row.items():
            if name not in columns and name not in ignored:
                raise ConfigError(f"rows[{place}]: the table has no column {name!r}; {did_you_mean(name, columns)}")
            if isinstance(cell, list | dict):
                raise ConfigError(f"rows[{place}].{name}: must be a text, a number, true, false or null")
    cells = {name: [_cell(column, row.get(name)) for row in rows] for name, column in columns.items()}
    return pd.DataFrame({name: pd.Series(column, dtype=object) for name, column in cells.items()})


def example(estimator: Any) -> dict[str, Any]:
    """A row for a person to begin with: the first training row, where the model holds its rows."""
    tables = getattr(estimator, "tables_", None)
    if not tables or not len(tables[0].values):
        return {column.name: None for column in estimator.columns_.columns}
    first = estimator.columns_.decode(tables[0].values[:1].numpy()).iloc[0]
    return {str(name): plain(cell) for name, cell in first.items()}


def _cell(column: Any, cell: Any) -> Any:
    """Categories may be numbers or booleans, and JSON may hold them as texts."""
    if cell is None or (isinstance(cell, str) and not cell.strip()):
        return None
    if isinstance(cell, str) and column.kind == "category":
        return {str(one): one for one in column.categories}.get(cell, cell)
    return cell


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
