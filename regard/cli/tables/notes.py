"""Notes: those of the library, collected while a verb works, for its JSON; on training rows and thresholds."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regard.tables.persist.load import Estimator

PREFIX = "note: "


class _Collector(logging.Handler):
    def __init__(self, notes: list[str]):
        super().__init__(logging.WARNING)
        self.notes = notes

    def emit(self, record: logging.LogRecord) -> None:
        self.notes.append(record.getMessage().removeprefix(PREFIX))


@contextmanager
def collected_notes() -> Iterator[list[str]]:
    """The notes that are logged in this block, without their prefix."""
    notes: list[str] = []
    collector, logger = _Collector(notes), logging.getLogger("regard")
    logger.addHandler(collector)
    try:
        yield notes
    finally:
        logger.removeHandler(collector)


def note_threshold(run: Path, estimator: "Estimator") -> None:
    """Say which threshold `fit` has proposed for a run whose rare class is predicted without one."""
    from regard.store import read_config
    from regard.tables.proposals import proposed_threshold
    from regard.tables.rare_class import rare_class

    proposed, rare = proposed_threshold(read_config(run)), None
    if not estimator.multi_output_:
        rare = rare_class(estimator)
    if proposed is None or rare is None:
        return
    logging.getLogger("regard.tables").info(
        "%r is predicted where it is the more probable class; fit proposed --threshold %g",
        str(estimator.classes_[rare]),
        proposed,
    )


def note_training_rows(scores: Mapping[str, Any]) -> None:
    """Say that rows that are scored are those that the run knows."""
    from regard.tables.scores import TRAINING_ROWS

    for name, known in scores.items():
        target, _, what = name.rpartition(".")
        if what != TRAINING_ROWS:
            continue
        rows = scores[f"{target}.rows" if target else "rows"]
        logging.getLogger("regard.tables").warning(
            "note: %s%s of %s rows %s of the run: their score says nothing about new rows",
            f"{target!r}: " if target else "",
            f"{known:,}",
            f"{rows:,}",
            "is a training row" if known == 1 else "are training rows",
        )
