"""Cells gathered by table: the score of every method there, once all of them have been measured on it."""

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .cells import Cell
from .files import CLASSIFICATION, REGRESSION
from .ranks import Score, ranks

OURS = "regard_"  # what the names of our own methods begin with
HERO = "regard_auto"  # the one that stands for them: its wins against each are counted
SMALL = 1_000  # rows of a table that is called small
MEASURE = {CLASSIFICATION: "auc", REGRESSION: "rmse"}  # what decides a rank
SHOWN = {CLASSIFICATION: "auc", REGRESSION: "r2"}  # what is averaged over tables: it has no unit
GUESS = {"auc": 0.5, "r2": 0.0}  # what a failed method is taken to have reached: no more than a guess


@dataclass(frozen=True)
class Board:
    """One table: each method's cells, one a seed. Methods that were left out of it are not in `cells`."""

    table: str
    task: str
    rows: int
    cells: Mapping[str, list[Cell]]
    left_out: tuple[str, ...]

    def scores(self) -> dict[str, Score]:
        """The mean over seeds, turned so that more is better; None for a method that failed on any of them."""
        sign = 1 if self.task == CLASSIFICATION else -1
        means = {method: self.mean(method) for method in self.cells}
        return {method: None if mean is None else sign * mean for method, mean in means.items()}

    def mean(self, method: str) -> float | None:
        """Of what decides the rank."""
        values = [_of(cell, MEASURE[self.task]) for cell in self.cells[method]]
        known = [value for value in values if value is not None]
        return statistics.mean(known) if len(known) == len(values) else None

    def shown(self, method: str) -> float:
        """The mean over seeds of AUC or R², a failure counting as a guess."""
        name = SHOWN[self.task]
        values = [_of(cell, name) for cell in self.cells[method]]
        return statistics.mean(GUESS[name] if value is None else value for value in values)

    def ranks(self) -> dict[str, float]:
        """Ways of ours stand among the peers one at a time, and the peers beside the first of them.

        All in one ranking, a peer behind two of ours would lose two places to what is one product.
        """
        scores = self.scores()
        ours = sorted((method for method in scores if method.startswith(OURS)), key=lambda method: method != HERO)
        peers = {method: score for method, score in scores.items() if method not in ours}
        alone = [ranks({**peers, own: scores[own]}) for own in ours]
        found = dict(alone[0]) if alone else ranks(peers)
        return found | {own: standing[own] for own, standing in zip(ours, alone, strict=True)}


def _of(cell: Cell, name: str) -> float | None:
    return None if cell.scores is None else cell.scores[name]


def boards(cells: Iterable[Cell], methods: list[str], seeds: int) -> tuple[list[Board], dict[str, list[str]]]:
    """The tables that every method has all seeds of, and what still waits for whom."""
    found: dict[str, dict[str, dict[int, Cell]]] = {}
    for cell in cells:
        if cell.seed < seeds:
            found.setdefault(cell.table, {}).setdefault(cell.method, {})[cell.seed] = cell
    whole, waiting = [], {}
    for table, by_method in sorted(found.items()):
        absent = [method for method in methods if len(by_method.get(method, {})) < seeds]
        if absent:
            waiting[table] = absent
        else:
            whole.append(_board(table, {method: list(by_method[method].values()) for method in methods}))
    return whole, waiting


def _board(table: str, cells: dict[str, list[Cell]]) -> Board:
    left_out = tuple(method for method, those in cells.items() if any(cell.left_out for cell in those))
    first = next(iter(cells.values()))[0]
    measured = {method: those for method, those in cells.items() if method not in left_out}
    return Board(table, first.task, first.table_rows, measured, left_out)
