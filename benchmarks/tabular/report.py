"""The document of all that has been measured: one section for each way to cut the tables, one for the folds."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from .boards import MEASURE, Board, boards
from .cells import Cell, Shelf
from .folds import PUBLISHED, folded
from .standings import standings


@dataclass(frozen=True)
class Wanted:
    """What a report is about; None: all that there is."""

    methods: list[str] | None
    tables: list[str] | None
    seeds: int
    limit: float

    def takes(self, cell: Cell) -> bool:
        return cell.limit in (None, self.limit) and (self.tables is None or cell.table in self.tables)


def document(shelf: Shelf, wanted: Wanted) -> dict[str, Any]:
    return {
        "limit": wanted.limit,
        "settings": [_setting(cells, wanted, *key) for key, cells in _by_setting(shelf, wanted).items()],
        "folds": _folds(shelf, wanted),
    }


def _by_setting(shelf: Shelf, wanted: Wanted) -> dict[tuple[int | None, bool], list[Cell]]:
    """By the cap on rows and whether rows are unique; caps first, as they are the quick ones."""
    found: dict[tuple[int | None, bool], list[Cell]] = {}
    for cell in _cells(shelf, wanted, folds=False):
        found.setdefault((cell.rows, cell.unique), []).append(cell)
    return dict(sorted(found.items(), key=lambda each: (each[0][0] is None, each[0][0] or 0, each[0][1])))


def _cells(shelf: Shelf, wanted: Wanted, folds: bool) -> Iterable[Cell]:
    for method in shelf.methods(folds) if wanted.methods is None else wanted.methods:
        yield from filter(wanted.takes, shelf.read(method, folds).values())


def _setting(cells: list[Cell], wanted: Wanted, rows: int | None, unique: bool) -> dict[str, Any]:
    methods = list(dict.fromkeys(cell.method for cell in cells))
    seeds = min(wanted.seeds, 1 + max(cell.seed for cell in cells))
    whole, waiting = boards(cells, methods, seeds)
    return {
        "rows": rows,
        "unique": unique,
        "seeds": seeds,
        "standings": [asdict(standing) for standing in standings(whole, methods)],
        "tables": [_table(board) for board in whole],
        "waiting": waiting,
        "errors": sorted({f"{cell.method} on {cell.table}: {cell.error}" for cell in cells if cell.error}),
        "machines": sorted({_machine(cell) for cell in cells}),
    }


def _machine(cell: Cell) -> str:
    return f"{cell.machine['processor']}, {cell.machine['cores']} cores, {cell.threads} threads"


def _table(board: Board) -> dict[str, Any]:
    means = {method: board.mean(method) for method in board.cells}
    return {
        "table": board.table,
        "task": board.task,
        "rows": board.rows,
        "measure": MEASURE[board.task],
        "scores": means,
        "ranks": board.ranks(),
        "left_out": list(board.left_out),
    }


def _folds(shelf: Shelf, wanted: Wanted) -> dict[str, Any]:
    by_method: dict[str, list[Cell]] = {}
    for cell in _cells(shelf, wanted, folds=True):
        by_method.setdefault(cell.method + (" (unique rows)" if cell.unique else ""), []).append(cell)
    measured = {
        method: {table: asdict(result) for table, result in folded(cells).items()}
        for method, cells in by_method.items()
    }
    return {"measured": measured, "published": PUBLISHED} if measured else {}
