"""Anomalies for people to read: the most surprising rows with their cells, as a grid, as JSON or as a table."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Group, RenderableType

from regard.core.errors import ConfigError
from regard.tables.anomalies.scoring import CellScores
from regard.tables.encode.cells import as_label, is_missing
from regard.tables.encode.columns import nearest
from regard.tables.estimators.anomalies import NPTAnomalies
from regard.tables.rendering import grid

MAX_KEYS = 2  # that are shown beside a row
MAX_CELLS = 3  # that are shown of a row
WORTH_SHOWING = 2.0  # bits of a cell, unless it is the first
REASONS = {"key": "identifiers, shown beside the row", "text": "texts, not scored", "empty": "empty, not scored"}


@dataclass(frozen=True)
class AnomalyReport:
    detector: NPTAnomalies
    frame: pd.DataFrame
    scores: CellScores
    extra: Sequence[str] = ()  # columns that are not scored, but shown

    @staticmethod
    def ignored(frame: pd.DataFrame, names: Sequence[str]) -> tuple[str, ...]:
        """The names of columns to ignore, which the table must have."""
        for name in names:
            if name not in frame:
                raise ConfigError(f"--ignore {name}: no such column; {nearest(name, list(frame))}")
        return tuple(dict.fromkeys(names))

    def notes(self) -> Iterator[str]:
        """Which columns are not scored, and why."""
        for role, reason in REASONS.items():
            names = [name for name, each in self.detector.roles_.items() if each == role]
            if names:
                yield f"{', '.join(names)}: {reason}"

    def order(self) -> np.ndarray:
        """The rows, the most surprising first."""
        return np.argsort(-self.scores.total, kind="stable")

    def table(self) -> pd.DataFrame:
        """A row for each row of the table, in its order."""
        order = self.order()
        rank = np.empty(len(order), dtype=int)
        rank[order] = np.arange(1, len(order) + 1)
        first = pd.concat(self._cells(range(len(order)), 1), ignore_index=True)
        parts = ("column", "value", "expected", "low", "high")
        return pd.DataFrame({
            "row": np.arange(len(order)),
            **{name: self.frame[name].to_numpy() for name in self._keys()},
            "surprise": self.scores.total.round(3),
            "rank": rank,
            **{name: first[name].map(_text).to_numpy(dtype=object) for name in parts},
            "cell_surprise": first["surprise"].round(3).to_numpy(),
        })  # fmt: skip

    def json(self, top: int) -> Iterator[str]:
        """One object a row, with unrounded numbers."""
        rows = self.order()[:top]
        for row, cells in zip(rows, self._cells(rows, len(self.detector.scored_)), strict=True):
            document = {
                "row": int(row),
                "keys": {name: _plain(self.frame[name].iloc[row]) for name in self._keys()},
                "surprise": float(self.scores.total[row]),
                "cells": [{name: _plain(cell) for name, cell in one.items()} for one in cells.to_dict("records")],
            }
            yield json.dumps(document, ensure_ascii=False, allow_nan=False)

    def grid(self, top: int) -> RenderableType:
        rows, keys = self.order()[:top], self._keys()[:MAX_KEYS]
        lines = []
        for row, cells in zip(rows, self._cells(rows, MAX_CELLS), strict=True):
            shown = [_sentence(one) for one in cells.to_dict("records") if one["surprise"] >= WORTH_SHOWING]
            shown = shown or [_sentence(cells.iloc[0].to_dict())]
            names = [self.frame[name].iloc[row] for name in keys]
            lines.append((row, *names, f"{self.scores.total[row]:.1f}", shown[0]))
            lines += [("", *("" for _ in keys), "", more) for more in shown[1:]]
        title = f"The most surprising of {len(self.frame):,} rows"
        note = (
            "surprise: in bits, beyond what was to be expected; ten bits are a chance of one in a thousand. Rows count "
            "from 0."
        )
        return Group(_wide(title, ("row", *keys, "surprise", "cells"), lines), note)

    def _keys(self) -> list[str]:
        names = [name for name, role in self.detector.roles_.items() if role == "key"]
        return [name for name in (*names, *self.extra) if name in self.frame]

    def _cells(self, rows: Any, top: int) -> list[pd.DataFrame]:
        return self.detector.explain_cells(self.frame, self.scores, top, rows)


def _wide(title: str, heads: Sequence[str], lines: Sequence[Sequence[Any]]) -> RenderableType:
    """Sentences about cells are longer than the cells of other grids."""
    table = grid(title, heads, [])
    for line in lines:
        table.add_row(*(_short(cell) for cell in line[:-1]), str(line[-1]).replace("[", "\\["))
    return table


def _short(cell: Any, most: int = 24) -> str:
    text = _text(cell)
    return (text if len(text) <= most else text[: most - 1] + "…").replace("[", "\\[")


def _sentence(cell: dict[str, Any]) -> str:
    """A cell with what was expected instead, and its surprise."""
    if is_missing(cell["expected"]):
        return f"{cell['column']} is missing ({cell['surprise']:+.1f})"
    if is_missing(cell["low"]):
        expected = f"{_text(cell['expected'])} with probability {cell['probability']:.0%}"
    else:
        expected = f"{_text(cell['low'])} to {_text(cell['high'])}"
    return f"{cell['column']} = {_short(cell['value'])}, expected {expected} ({cell['surprise']:+.1f})"


def _text(cell: Any) -> str:
    if is_missing(cell):
        return ""
    return f"{cell:g}" if isinstance(cell, float) else str(as_label(cell))


def _plain(cell: Any) -> Any:
    return None if is_missing(cell) else as_label(cell)
