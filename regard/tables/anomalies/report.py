"""Anomalies for people to read: the most surprising rows with their cells, as a grid, as JSON or as a table."""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Group, RenderableType

from regard.core.errors import ConfigError
from regard.tables.anomalies.scoring import CellScores
from regard.tables.cutting import cut, cut_apart
from regard.tables.encode.cells import as_label, is_missing
from regard.tables.encode.columns import nearest
from regard.tables.estimators.anomalies import NPTAnomalies
from regard.tables.rendering import grid

MAX_KEYS = 2  # that are shown beside a row
MAX_CELLS = 3  # that are shown of a row
MAX_KEY, MAX_CELL = 24, 32  # characters of an identifier, and of a text unless it would look like another
VALUE_DIGITS, ENDS_DIGITS = 6, 3  # significant ones of a number, and of the ends of an interval
THOUSANDS = 10_000  # from which on they are set apart
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
        table.add_row(*(_short(cell) for cell in line[:-1]), _escaped(line[-1]))
    return table


def _short(cell: Any) -> str:
    return _escaped(cut(_text(cell), MAX_KEY))


def _sentence(cell: dict[str, Any]) -> str:
    """A cell with what was expected instead, and its surprise."""
    if is_missing(cell["expected"]):
        return f"{cell['column']} is missing ({cell['surprise']:+.1f})"
    if is_missing(cell["low"]):
        value, expected = cut_apart([_text(cell["value"]), _text(cell["expected"])], MAX_CELL)
        expected = f"{expected} with probability {cell['probability']:.0%}"
    else:
        value = _quantity(cell["value"], VALUE_DIGITS)
        expected = f"{_quantity(cell['low'], ENDS_DIGITS)} to {_quantity(cell['high'], ENDS_DIGITS)}"
    return f"{cell['column']} = {value}, expected {expected} ({cell['surprise']:+.1f})"


def _quantity(cell: Any, digits: int) -> str:
    """A number with at least so many significant digits, and thousands apart; a date as it is."""
    label = as_label(cell)
    if not isinstance(label, int | float) or not 1e-4 <= abs(label) < 1e12:
        return f"{label:.{digits}g}" if isinstance(label, float) else str(label)
    places = max(0, digits - 1 - math.floor(math.log10(abs(label))))
    text = f"{label:,.{places}f}" if abs(label) >= THOUSANDS else f"{label:.{places}f}"
    return text.rstrip("0").rstrip(".") if places else text


def _text(cell: Any) -> str:
    """As in a file of numbers: with all digits that it has, and nothing between them."""
    if is_missing(cell):
        return ""
    return f"{cell:.12g}" if isinstance(cell, float) else str(as_label(cell))


def _escaped(text: str) -> str:
    return text.replace("[", "\\[")


def _plain(cell: Any) -> Any:
    return None if is_missing(cell) else as_label(cell)
