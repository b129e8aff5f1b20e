"""A report: what was measured of an estimator in memory or of a run folder, and its page."""

import logging
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd

from regard.core.errors import ConfigError, UserError
from regard.core.files import write_text
from regard.data.tables.files import read_table
from regard.data.tables.source import TableSource
from regard.store import read_config
from regard.tables.encode.cells import ROW
from regard.tables.encode.frames import as_frame, errors_in
from regard.tables.encode.target import target_columns
from regard.tables.proposals import proposed_threshold
from regard.tables.report.measure import TestTable, measure
from regard.tables.report.next_steps import FitOptions, Origin
from regard.tables.report.page import render
from regard.tables.report.results import Results

logger = logging.getLogger(__name__)

FRAME = 900  # height in a notebook, in pixels


@dataclass(frozen=True)
class Report:
    """A report: what was measured, and the page."""

    results: Results
    html: str

    def save(self, path: str | Path) -> None:
        """Write the page, whole or not at all."""
        file = Path(path)
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            write_text(file, self.html)
        except OSError as error:
            raise UserError(f"{file}: cannot be written ({error.strerror})") from None

    def _repr_html_(self) -> str:
        """In a notebook: a frame of its own, so that the styles of the two do not mix."""
        style = f"width:100%;height:{FRAME}px;border:0"
        return f'<iframe srcdoc="{escape(self.html)}" style="{style}" title="Report"></iframe>'


def report_model(estimator: Any, rows: Any = None, targets: Any = None) -> Report:
    """The report of an estimator in memory, on other rows with their targets if there are any."""
    origin = Origin(type(estimator).__name__)
    if (rows is None) != (targets is None):
        raise ConfigError("report: X and y belong together; without both, training rows are held out")
    if rows is None:
        return _report(estimator, origin)
    frame, columns = as_frame(rows), target_columns(targets)
    if {len(column) for column in columns} != {len(frame)}:
        raise ConfigError(f"inconsistent numbers of samples: X has {len(frame)} rows and y {len(columns[0])}")
    if len(columns) != len(estimator.tables_):
        raise ConfigError(f"y: has {len(columns)} targets, and the estimator {len(estimator.tables_)}")
    return _report(estimator, origin, TestTable("X", frame, [pd.Series(column) for column in columns]))


def report_run(run: Path, estimator: Any, file: Path | TableSource | None = None) -> Report:
    """The report of the estimator of a run folder, on a file with the target, or on held-out training rows."""
    config = read_config(run)
    table, options = config.get("table"), FitOptions.of_run(config, estimator)
    origin = Origin(str(run), str(run), str(table) if table else None, options, proposed_threshold(config))
    if file is None:
        with errors_in(run):
            return _report(estimator, origin)
    frame = read_table(file).rename_axis(ROW)
    missing = [name for name in estimator.target_names_ if name is None or name not in frame]
    with errors_in(file):
        if missing:
            logger.warning("note: %s has no column %r: training rows are held out instead", file, missing[0])
            return _report(estimator, origin)
        targets = [frame[name] for name in estimator.target_names_]
        features = frame.drop(columns=list(estimator.target_names_))
        return _report(estimator, origin, TestTable(str(file), features, targets))


def _report(estimator: Any, origin: Origin, test: TestTable | None = None) -> Report:
    results = measure(estimator, origin, test)
    return Report(results, render(results))
