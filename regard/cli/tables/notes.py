"""Notes: those of the library, collected while a verb works, for its JSON; and one on the threshold of a rare class."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

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
