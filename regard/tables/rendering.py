"""Rendering for the terminal: columns, evidence, comparisons and saved tables."""

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from shutil import get_terminal_size
from typing import Any

import pandas as pd
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from regard.store import read_config
from regard.tables.compare import ModelScore
from regard.tables.encode.cells import as_label, is_missing
from regard.tables.encode.column import shorten
from regard.tables.encode.columns import Columns
from regard.tables.estimators.classifier import NPTClassifier
from regard.tables.estimators.distilled import Distilled
from regard.tables.estimators.imputer import NPTImputer
from regard.tables.estimators.regressor import NPTRegressor
from regard.tables.explain import Evidence
from regard.tables.explanations import EFFECT, Explanation, effects_table
from regard.tables.plain_numbers import percent_text, plain_number
from regard.tables.predictions import short_prediction
from regard.tables.rare_class import FEW
from regard.tables.scores import DETECTED_ROWS, MAJORITY, NAMES

MAX_COLUMNS = 6  # side by side
MAX_KEYS = 2  # before them
MAX_CELL = 24  # letters of a cell beside others
DIGITS = 7  # of a number from the table: those that float32 holds
GAP = 2  # spaces between columns
NEARLY_UNIFORM = 2.0  # largest weight over the uniform weight below which no row stands out


def grid(title: str, heads: Sequence[str], rows: Iterable[Sequence[Any]], most: int = 40) -> Table:
    """Cells of at most so many letters."""
    table = Table(
        *heads, title=title, title_justify="left", header_style="bold", box=None, pad_edge=False, min_width=len(title)
    )
    for row in rows:
        table.add_row(*(_cell(cell, most).replace("[", "\\[") for cell in row))  # rich reads brackets as styles
    return table


def _cell(cell: Any, most: int) -> str:
    if is_missing(cell):
        return "–"
    text = plain_number(cell, DIGITS, separator="") if isinstance(cell, float) else str(as_label(cell))
    return shorten(text, most)


def _that_fit(heads: Sequence[str], rows: Sequence[Sequence[Any]], most: int, least: int) -> int:
    """How many of the columns fit side by side: narrower ones would cut dates and keys."""
    widths = [max(len(head), *(len(_cell(row[place], most)) for row in rows)) for place, head in enumerate(heads)]
    ends = accumulate(width + GAP for width in widths)
    return max(least, sum(end - GAP <= get_terminal_size().columns for end in ends))


def _number(value: float) -> str:
    return f"{value:.4f}" if abs(value) < 100 else plain_number(value, 6)


def columns_grid(columns: Columns, most: int = 40) -> RenderableType:
    rows = columns.table()
    shown = grid("Columns", ("name", "kind", "filled", "holds"), rows[:most])
    return Group(shown, f"and {len(rows) - most:,} more") if len(rows) > most else shown


def scores_line(scores: Mapping[str, Any]) -> str:
    """Scores by name; those of several targets, which are prefixed by their names, one after the other."""
    targets: dict[str, list[str]] = {}
    for name, value in scores.items():
        target, _, metric = name.rpartition(".")
        if metric in NAMES:
            prefix = f"{target}." if target else ""
            note = _comparison(metric, scores.get(prefix + MAJORITY), scores.get(prefix + DETECTED_ROWS))
            targets.setdefault(target, []).append(f"{NAMES[metric]} {_number(value)}{note}")
    return "; ".join(
        f"{target}: {', '.join(parts)}" if target else ", ".join(parts) for target, parts in targets.items()
    )


def _comparison(metric: str, majority: float | None, detected_rows: float | None) -> str:
    """What a score is to be compared with, or how few rows it rests on."""
    if metric == "accuracy" and majority is not None:
        return f" (always the most frequent training class: {majority:.4f})"
    if metric == "auc" and detected_rows is not None and detected_rows < FEW:
        return f" (rough: only {detected_rows:.0f} {'row is' if detected_rows == 1 else 'rows are'} of the rarer class)"
    return ""


def evidence_grids(evidence: Evidence, cells: pd.Series, target: str) -> list[RenderableType]:
    """The columns that move the prediction, with their cells, and the training rows with the largest weight."""
    columns = [
        (name, cells.get(name), _effect(evidence, one["effect"]), f"± {_amount(evidence, one['error'])}")
        for name, one in evidence.columns.iterrows()
    ]
    features = [name for name, *_ in columns if name not in evidence.keys]
    keys = evidence.keys[:MAX_KEYS]
    shown = features[: MAX_COLUMNS - len(keys)]
    rows = evidence.rows
    places = [list(rows.columns).index(name, 2) for name in (*keys, *shown)]  # after weight and target
    training = [
        (
            row,
            f"{rows.iloc[number, 0]:.1%}",
            _target(rows.iloc[number, 1]),
            *(rows.iloc[number, place] for place in places),
        )
        for number, row in enumerate(rows.index)
    ]
    heads = ("row", "weight", target, *keys, *shown)
    fitting = _that_fit(heads, training, MAX_CELL, least=4 + len(keys)) if training else len(heads)
    shown, training = shown[: fitting - 3 - len(keys)], [row[:fitting] for row in training]
    few = columns[: 2 * MAX_COLUMNS]
    left = f"; {len(columns) - len(few):,} more have smaller ones" if len(columns) > len(few) else ""
    largest = "column" if len(shown) == 1 else f"{len(shown)} columns"
    others = f"; shown with the {largest} of largest effect" if len(features) > len(shown) else ""
    title = "Training rows with the largest weight in this prediction"
    if not evidence.attends_to_labels:
        title = "Training rows with the most attention"
    return [
        Group(
            grid("Columns that the prediction depends on", ("column", "cell", "effect", ""), few),
            Text(_sum_of_effects(evidence) + left),
        ),
        Group(
            grid(title, heads[:fitting], training, MAX_CELL),
            Text(_row_weights(evidence) + others + _unshared_category(evidence, cells)),
        ),
    ]


def _target(value: Any) -> Any:
    """A number as that of the prediction is written."""
    return plain_number(value, DIGITS) if isinstance(value, float) else value


def effects_grid(explanations: Sequence[Explanation]) -> RenderableType:
    """The effects of columns on the predictions of several rows, side by side."""
    effects = [name.removeprefix(EFFECT) for name in effects_table(explanations) if name.startswith(EFFECT)]
    keys = explanations[0].evidence.keys[:MAX_KEYS]
    few = effects[: MAX_COLUMNS - len(keys)]
    several = len({one.target for one in explanations}) > 1
    rows = [
        (
            one.row,
            *(one.keys.get(name) for name in keys),
            *([one.target] if several else []),
            short_prediction(one.prediction),
            *(_effect(one.evidence, one.evidence.columns["effect"][name]) for name in few),
        )
        for one in explanations
    ]
    unit = "points of probability" if explanations[0].evidence.is_probability else "the unit of the target"
    left = len(effects) - len(few)
    more = f"; {left:,} more columns with smaller ones: --out effects.csv" if left else ""
    note = f"effects (Shapley values) in {unit}: they lead from the average prediction to that of the row{more}"
    heads = ("row", *keys, *(["target"] if several else []), "prediction", *few)
    return Group(grid("Effects of the columns", heads, rows), Text(note))


def evidence_json(evidence: Evidence, cells: pd.Series, target: str, row: int | None = None) -> str:
    """The same as JSON on one line, with unrounded numbers."""
    effects = evidence.columns.assign(cell=[cells.get(name) for name in evidence.columns.index])
    rows, first = evidence.rows, 2 + len(evidence.keys)  # after weight, target and keys
    document = {
        "row": row,
        "keys": {name: cells[name] for name in evidence.keys if name in cells},
        "target": target,
        "prediction": evidence.prediction,
        "probability" if evidence.is_probability else "number": evidence.value,
        "average": evidence.base,
        "columns": effects.rename_axis("column").reset_index().to_dict("records"),
        "rows": [
            {
                "row": int(number),
                "weight": rows.iloc[place, 0],
                "target": rows.iloc[place, 1],
                "keys": dict(zip(evidence.keys, rows.iloc[place, 2:first], strict=True)),
                "cells": dict(zip(rows.columns[first:], rows.iloc[place, first:], strict=True)),
            }
            for place, number in enumerate(rows.index)
        ],
        "rows_with_weight": evidence.context,
        "own_row": evidence.own_row,
    }
    return json.dumps(_plain(document), ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    """As JSON can hold it: a missing cell is null, a date a text."""
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if is_missing(value):
        return None
    return as_label(value)


def _effect(evidence: Evidence, value: float) -> str:
    """With a sign, in points of probability or in the unit of the target."""
    amount = _amount(evidence, abs(value))
    return amount if amount.startswith("<") or amount == "0" else f"{'-' if value < 0 else '+'}{amount}"


def _amount(evidence: Evidence, size: float) -> str:
    if not evidence.is_probability:
        return plain_number(size)
    return "<0.05" if 0 < 100 * size < 0.05 else f"{100 * size:.1f}" if size else "0"


def _sum_of_effects(evidence: Evidence) -> str:
    """How to read the effects of columns."""
    of = "Shapley values, ± standard error"
    if evidence.is_probability:
        of = f"{of}, in points of probability"
        start, end = percent_text(evidence.base, 1), percent_text(evidence.value, 1)
    else:
        start, end = plain_number(evidence.base, 5), plain_number(evidence.value, 5)
    return f"effect: from the average prediction for training rows, {start}, all effects lead to {end} ({of})"


def _row_weights(evidence: Evidence) -> str:
    """How to read the weights of rows."""
    uniform = f"{100 / max(1, evidence.context):.2g}%"
    note = f"of {evidence.context:,} rows; the uniform weight would be {uniform}"
    if evidence.own_row is not None:
        note = f"row {evidence.own_row} of the training data is this row itself and is left out; {note}"
    if len(evidence.rows) and evidence.rows.iloc[0, 0] * evidence.context < NEARLY_UNIFORM:
        return f"{note}: no row stands out"
    return note


def _unshared_category(evidence: Evidence, cells: pd.Series) -> str:
    """A note if the rows shown do not explain the largest effect.

    The target's mean for each category is a feature, so that rows of the same category act together, without a weight.
    """
    effects = evidence.columns["effect"].abs()
    if effects.empty or effects.iloc[0] < effects.sum() / 2:
        return ""
    column = effects.index[0]
    cell, shown = cells.get(column), evidence.rows.get(column)
    if not isinstance(cell, str) or shown is None or (shown == cell).any():
        return ""
    value = shorten(cell, MAX_CELL)
    return f"\nnone of these rows has {column} = {value!r}: those that have act through their average"


def comparison_grid(metric: str, scores: Sequence[ModelScore], folds: int) -> RenderableType:
    better = "higher" if metric in ("auc", "accuracy") else "lower"
    rows = [
        (one.name, "failed", "", "")
        if one.error
        else (one.name, _number(one.mean), f"± {_number(one.std)}", f"{one.seconds:.1f}")
        for one in scores
    ]
    title = f"{NAMES[metric]} in {folds} folds ({better} is better)"
    note = "± is the standard deviation over folds; smaller differences may be noise"
    return Group(grid(title, ("model", NAMES[metric], "", "seconds per fold"), rows), note)


def describe(path: Path, estimator: NPTClassifier | NPTRegressor | NPTImputer) -> str:
    """A fitted table's run folder as text."""
    config = read_config(path)
    kind = type(estimator).__name__
    if isinstance(estimator, NPTImputer):
        lines = [f"{path}: {kind}, {len(estimator.values_):,} training rows"]
    else:
        lines = [f"{path}: {kind} of {_targets(estimator)}, mode {estimator.mode}, {_training_rows(estimator)}"]
        if config.get("scores"):
            lines.append(f"on held-out rows: {scores_line(config['scores'])}")
        for one in config.get("added", []):
            scores = f": {scores_line(one['before'])}; with the other ones added {scores_line(one['after'])}"
            lines.append(f"added: {one['rows']:,} rows of {one['table']}{scores if one['before'] else ''}")
    heads = ("name", "kind", "filled", "holds")
    cells = [heads, *estimator.columns_.table()]
    widths = [max(len(row[place]) for row in cells) for place in range(3)]
    return "\n".join([*lines, "", *("  ".join([*map(str.ljust, row[:3], widths), row[3]]).rstrip() for row in cells)])


def _training_rows(estimator: NPTClassifier | NPTRegressor) -> str:
    if isinstance(estimator, Distilled):
        return f"distilled from {estimator.training_rows_:,} training rows, of which it contains none"
    return f"{estimator.rows_.unique().numel():,} training rows"


def _targets(estimator: NPTClassifier | NPTRegressor) -> str:
    names = [name or "a target" for name in estimator.target_names_]
    if isinstance(estimator, NPTClassifier) and not estimator.multi_output_:
        return f"{names[0]} ({len(estimator.classes_):,} classes)"
    return ", ".join(names)
