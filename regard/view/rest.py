"""What a prediction for one row of a table rests on: known rows by their weight, and columns that mattered."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from regard.core.errors import ConfigError
from regard.tables import NPTClassifier, NPTRegressor
from regard.tables.data_checks import check_new_data
from regard.tables.encode.cells import is_missing
from regard.tables.encode.column import Column
from regard.tables.predictions import predict_targets, sentence
from regard.view.recording import Given

TOP = 12  # known rows that are shown
CHOICES = 200  # categories that a list can offer

Estimator = NPTClassifier | NPTRegressor


@dataclass(frozen=True)
class Rest:
    given: Given
    told: str  # the prediction in words
    answer: Any  # a class, or a number
    target: str  # its name
    chances: tuple[tuple[str, float], ...]  # of classes; of a number its quantiles
    names: tuple[str, ...] = ()  # columns of the known rows
    rows: tuple[tuple[int, float, str, tuple[str, ...]], ...] = ()  # number, weight, target and cells, heaviest first
    columns: tuple[tuple[str, float], ...] = ()  # how much each column mattered, the most first
    notes: tuple[str, ...] = ()


def rest(estimator: Estimator, given: Given) -> Rest:
    """Predict the row that is given, and say why."""
    frame = as_row(estimator, given.row or {})
    first = predict_targets(estimator, frame)[0]
    answer = first.predictions[0]
    chances = tuple(
        (name.removeprefix("p_"), float(value)) for name, value in zip(first.names, first.values[0], strict=True)
    )
    if isinstance(estimator, NPTClassifier):
        chances = tuple(sorted(chances, key=lambda one: -one[1]))
    notes = _notes(check_new_data(estimator.columns_, frame))
    if estimator.multi_output_:
        notes += (f"of {len(estimator.predictors_)} targets the first is shown; `regard explain` shows all",)
    plain = answer if isinstance(answer, str) else answer.item() if hasattr(answer, "item") else answer
    found = estimator.evidence(frame, TOP)
    [evidence] = found[0] if estimator.multi_output_ else found
    cells = evidence.rows.iloc[:, 2:]
    rows = tuple(
        (int(number), float(weight), _word(label), tuple(map(_word, own)))
        for number, weight, label, own in zip(
            evidence.rows.index, evidence.rows.iloc[:, 0], evidence.rows.iloc[:, 1], cells.to_numpy(), strict=True
        )
    )
    columns = tuple((str(name), float(weight)) for name, weight in evidence.columns.items())
    names, told = tuple(map(str, cells.columns)), sentence(first)
    return Rest(given, told, plain, first.target, chances, names, rows, columns, notes)


def _notes(surprises: list[str]) -> tuple[str, ...]:
    """Cells that were left open are told together: to leave them open is the person's choice."""
    end = ": is empty"
    left = [line.removesuffix(end) for line in surprises if line.endswith(end)]
    others = tuple(line for line in surprises if not line.endswith(end))
    return (*others, f"left open: {', '.join(left)}") if left else others


def as_row(estimator: Estimator, cells: Mapping[str, str]) -> pd.DataFrame:
    """Cells as they are written, as a table of one row. An empty cell, or one that is not given, is a gap."""
    names = [column.name for column in estimator.columns_.columns]
    for name in cells:
        if name not in names:
            raise ConfigError(f"the table has no column {name!r}; it has {', '.join(names[:20])}")
    row = {column.name: _cell(column, cells.get(column.name, "")) for column in estimator.columns_.columns}
    return pd.DataFrame({name: pd.Series([cell], dtype=object) for name, cell in row.items()})


def form(estimator: Estimator) -> list[dict[str, Any]]:
    """What a person can fill in, a field for each column, with the first known row in it."""
    known = estimator.columns_.decode(estimator.tables_[0].values[:1].numpy()).iloc[0]
    return [
        {
            "name": column.name,
            "kind": column.kind,
            "seen": column.summary,
            "choices": [str(one) for one in column.categories] if len(column.categories) <= CHOICES else [],
            "value": _word(cell),
        }
        for column, cell in zip(estimator.columns_.columns, known, strict=True)
    ]


def _cell(column: Column, text: str) -> Any:
    """Text as the column knows it: categories may be numbers or truths that only look like text."""
    if not text.strip():
        return None
    return {str(one): one for one in column.categories}.get(text, text)


def _word(cell: Any) -> str:
    if is_missing(cell):
        return ""
    if isinstance(cell, pd.Timestamp):
        return str(cell.date()) if cell == cell.normalize() else str(cell)
    return f"{cell:.7g}" if isinstance(cell, float) else str(cell)
