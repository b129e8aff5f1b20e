"""Tables on the screen: columns, evidence, comparisons and runs, for people to read."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from regard.store import read_config
from regard.tables.cells import is_gap, label
from regard.tables.columns import Columns
from regard.tables.compare import Compared
from regard.tables.estimator import NPTClassifier, NPTRegressor
from regard.tables.evidence import Evidence
from regard.tables.imputer import NPTImputer

MOST_SHOWN = 6  # columns beside each other
NEARLY_EVEN = 2.0  # times as much as each row would have: less is no distinction
NAMES = {"auc": "AUC", "accuracy": "accuracy", "log_loss": "log-loss", "rmse": "RMSE", "mae": "MAE", "r2": "R²"}


def grid(title: str, heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> Table:
    table = Table(
        *heads, title=title, title_justify="left", header_style="bold", box=None, pad_edge=False, min_width=len(title)
    )
    for row in rows:
        table.add_row(*(_cell(cell) for cell in row))
    return table


def _cell(cell: Any) -> str:
    if is_gap(cell):
        return "–"
    text = f"{cell:.6g}" if isinstance(cell, float) else str(label(cell))
    return (text if len(text) <= 40 else text[:39] + "…").replace("[", "\\[")  # rich reads brackets as styles


def _figure(value: float) -> str:
    return f"{value:.4f}" if abs(value) < 100 else f"{value:.6g}"


def columns_grid(columns: Columns, most: int = 40) -> RenderableType:
    rows = columns.table()
    shown = grid("Columns", ("name", "kind", "filled", "holds"), rows[:most])
    return Group(shown, f"and {len(rows) - most:,} more") if len(rows) > most else shown


def scores_line(scores: dict[str, Any]) -> str:
    return ", ".join(f"{NAMES[name]} {_figure(value)}" for name, value in scores.items() if name in NAMES)


def evidence_grids(evidence: Evidence, cells: pd.Series, target: str) -> list[RenderableType]:
    """The columns that mattered with what this row has there, and the known rows that it was told by."""
    columns = [(name, cells.get(name), f"{weight:.0%}") for name, weight in evidence.columns.items()]
    shown = [name for name, _, _ in columns[:MOST_SHOWN]]
    rows = evidence.rows
    places = [list(rows.columns).index(name, 2) for name in shown]  # after weight and target
    known = [
        (row, f"{rows.iloc[number, 0]:.1%}", rows.iloc[number, 1], *(rows.iloc[number, place] for place in places))
        for number, row in enumerate(rows.index)
    ]
    few = columns[: 2 * MOST_SHOWN]
    left = f"; {len(columns) - len(few):,} more moved it less" if len(columns) > len(few) else ""
    others = f"; shown with the {len(shown)} columns that mattered most" if len(columns) > len(shown) else ""
    title = "Known rows that it was told by" if evidence.voted else "Known rows that it looked at most"
    return [
        Group(
            grid("What mattered in this row", ("column", "cell", "weight"), few),
            Text(f"weight: how far the answer moves when the cell is hidden, as a share{left}"),
        ),
        Group(grid(title, ("row", "weight", target, *shown), known), Text(_about_rows(evidence) + others)),
    ]


def _about_rows(evidence: Evidence) -> str:
    """How to read the weights of rows."""
    even = f"{1 / max(1, evidence.seen):.1%}"
    told = f"of {evidence.seen:,} rows; weighed alike, each would have {even}"
    if len(evidence.rows) and evidence.rows.iloc[0, 0] * evidence.seen < NEARLY_EVEN:
        return f"{told}: no row stands out, and none of them decided by itself"
    return told


def comparison_grid(measure: str, compared: Sequence[Compared], folds: int) -> RenderableType:
    better = "more" if measure in ("auc", "accuracy") else "less"
    rows = [
        (one.name, "failed", "", "")
        if one.error
        else (one.name, _figure(one.mean), f"± {_figure(one.spread)}", f"{one.seconds:.1f}")
        for one in compared
    ]
    title = f"{NAMES[measure]} in {folds} folds ({better} is better)"
    note = "± is how much folds differ; models that are closer than that may be equally good"
    return Group(grid(title, ("model", NAMES[measure], "", "seconds a fold"), rows), note)


def describe(path: Path, estimator: NPTClassifier | NPTRegressor | NPTImputer) -> str:
    """A table's run folder in words."""
    config = read_config(path)
    kind = type(estimator).__name__
    if isinstance(estimator, NPTImputer):
        lines = [f"{path}: {kind}, {len(estimator.values_):,} known rows"]
    else:
        rows = estimator.rows_.unique().numel()
        lines = [f"{path}: {kind} of {_targets(estimator)}, mode {estimator.mode}, {rows:,} known rows"]
        if config.get("scores"):
            lines.append(f"on rows held out: {scores_line(config['scores'])}")
    heads = ("name", "kind", "filled", "holds")
    cells = [heads, *estimator.columns_.table()]
    widths = [max(len(row[place]) for row in cells) for place in range(3)]
    return "\n".join([*lines, "", *("  ".join([*map(str.ljust, row[:3], widths), row[3]]).rstrip() for row in cells)])


def _targets(estimator: NPTClassifier | NPTRegressor) -> str:
    names = [name or "a target" for name in estimator.target_names_]
    if isinstance(estimator, NPTClassifier) and not estimator.many_:
        return f"{names[0]} ({len(estimator.classes_):,} classes)"
    return ", ".join(names)
