"""A run with added rows: the folder is replaced whole or not at all, and says what was added and what it gained.

The new run is written beside the old one, and then takes its name.
"""

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from regard.store import RunFolder, read_config
from regard.tables.persist.save import Estimator, save
from regard.tables.persist.schema import Section, shown

EXTRA = ("command", "table", "query", "split", "task", "cost", "scores")  # of a run, beside its estimator
MAX_ADDITIONS = 100_000
ROW_LIMIT = 2**53


@dataclass(frozen=True)
class AddedRows:
    """Rows that were added to a run from one file."""

    table: str
    rows: int
    first_row: int  # the number that evidence gives to the first row of the file
    before: Mapping[str, float]  # scores of these rows by the run as it was
    after: Mapping[str, float]  # and with the others of them added, in folds

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"before": dict(self.before), "after": dict(self.after)}


def read_added(config: Section) -> list[AddedRows]:
    """The rows that were added to a run, the oldest first."""
    if config.value("added", default=None) is None:
        return []
    added = []
    for section in config.sections("added", 0, MAX_ADDITIONS):
        added.append(
            AddedRows(
                section.text("table"),
                section.integer("rows", 1, ROW_LIMIT),
                section.integer("first_row", 0, ROW_LIMIT),
                read_numbers(section, "before"),
                read_numbers(section, "after"),
            )
        )
        section.done()
    return added


def read_numbers(config: Section, key: str) -> dict[str, float]:
    """Numbers by name, such as scores; none if the key is absent."""
    section = Section(config.file, config.value(key, default=None) or {}, key)
    for name, value in section.entries():
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            raise section.error(name, f"must be a number, not {shown(value)}")
    return {name: float(value) for name, value in section.entries()}


def save_added(estimator: Estimator, path: Path, added: Sequence[AddedRows]) -> None:
    """Replace a run by the estimator with added rows."""
    path = path.resolve()  # of a link, what it points to
    config = read_config(path)
    extra = {key: config[key] for key in EXTRA if key in config}
    new, old = (path.with_name(f".{path.name}.{os.getpid()}.{kind}.part") for kind in ("new", "old"))
    with RunFolder(path).open(resume=True):  # nobody else may write it meanwhile
        try:
            save(estimator, new, extra={**extra, "added": [one.to_dict() for one in added]})
            path.rename(old)
            try:
                new.rename(path)
            except OSError:
                old.rename(path)
                raise
        finally:
            shutil.rmtree(new, ignore_errors=True)
    shutil.rmtree(old, ignore_errors=True)
