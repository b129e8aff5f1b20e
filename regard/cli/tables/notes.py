"""Notes of the library, collected while a verb works, for its JSON."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

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
