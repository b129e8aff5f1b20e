"""The standing of every method over many tables: mean ranks by group, mean scores, seconds, failures, duels."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass

from .boards import HERO, SMALL, Board
from .files import CLASSIFICATION, REGRESSION
from .ranks import duel

GROUPS: dict[str, Callable[[Board], bool]] = {
    "all": lambda board: True,
    CLASSIFICATION: lambda board: board.task == CLASSIFICATION,
    REGRESSION: lambda board: board.task == REGRESSION,
    "small": lambda board: board.rows <= SMALL,
}


@dataclass(frozen=True)
class Standing:
    method: str
    tables: int  # that it was measured on
    rank: dict[str, float | None]  # by group; None: no table of that group
    auc: float | None
    r2: float | None
    seconds: float  # of fitting and answering, together
    failures: int  # cells that ended with an error
    left_out: int  # tables that it does not fit
    duels: tuple[int, int, int] | None  # tables that the hero wins, ties and loses against it


def standings(boards: list[Board], methods: list[str]) -> list[Standing]:
    """The best first."""
    found = [_standing(boards, method) for method in methods]
    return sorted(found, key=lambda each: (each.rank["all"] is None, each.rank["all"]))


def _standing(boards: list[Board], method: str) -> Standing:
    mine = [board for board in boards if method in board.cells]
    cells = [cell for board in mine for cell in board.cells[method]]
    return Standing(
        method,
        tables=len(mine),
        rank={name: _mean([board.ranks()[method] for board in mine if group(board)]) for name, group in GROUPS.items()},
        auc=_mean([board.shown(method) for board in mine if board.task == CLASSIFICATION]),
        r2=_mean([board.shown(method) for board in mine if board.task == REGRESSION]),
        seconds=sum(cell.fit_seconds + cell.predict_seconds for cell in cells),
        failures=sum(cell.error is not None for cell in cells),
        left_out=len(boards) - len(mine),
        duels=_duels(mine, method),
    )


def _duels(boards: list[Board], method: str) -> tuple[int, int, int] | None:
    met = [board.scores() for board in boards if HERO in board.cells]
    if method == HERO or not met:
        return None
    results = [duel(scores[HERO], scores[method]) for scores in met]
    return results.count(1), results.count(0), results.count(-1)


def _mean(values: list[float]) -> float | None:
    return statistics.mean(values) if values else None
