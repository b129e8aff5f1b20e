"""`regard anomalies`."""

import logging
from pathlib import Path

from regard.cli.app import app
from regard.cli.results import count_rows
from regard.cli.tables.options import Kinds, read_kinds
from regard.core.errors import UserError, at_least

logger = logging.getLogger("regard.tables")


@app.command
def anomalies(
    table: Path,
    *,
    out: Path | None = None,
    top: int = 20,
    train: Path | None = None,
    kinds: Kinds = (),
    ignore: tuple[str, ...] = (),
    members: int = 1,
    seed: int = 0,
    json: bool = False,
) -> None:
    """Find the rows of a table that are surprising, and the cells that make them so; nothing is trained.

    Parameters
    ----------
    table
        CSV, TSV or Parquet, also compressed.
    out
        .csv, .tsv or .parquet file to write: all rows in their order, with surprise, rank and most surprising cell.
    top
        How many rows to show, the most surprising first.
    train
        A table of known rows with the same columns to compare with; by default the other rows of the table itself.
    kinds
        COLUMN=number, category, date or text, if the inferred kind is wrong.
    ignore
        Columns that are not scored; they are shown beside the row, like identifiers.
    members
        Ensemble members for each column; more are more accurate and slower.
    seed
        Random seed.
    json
        Print one JSON object for each row shown.
    """
    from regard.data.tables.files import check_written, read_table, write_table
    from regard.tables.anomalies.report import AnomalyReport
    from regard.tables.encode.frames import errors_in
    from regard.tables.estimators.anomalies import NPTAnomalies

    at_least(1, top=top, members=members)
    if out is not None:
        check_written(out)
    frame = read_table(table)
    known = frame if train is None else read_table(train)
    if len(known) < 2:
        rows = "one row" if len(known) else "no rows"
        raise UserError(f"{train or table}: has {rows}, so there is nothing to compare with")
    with errors_in(train or table):
        ignored = AnomalyReport.ignored(known, ignore)
        detector = NPTAnomalies(members=members, kinds=read_kinds(kinds) or None, random_state=seed)
        detector.fit(known.drop(columns=list(ignored)))
    with errors_in(table):
        scores = detector.training_ if train is None else detector.cell_scores(frame)
        report = AnomalyReport(detector, frame, scores, ignored)
    for line in report.notes():
        logger.info("%s", line)
    if out is not None:
        write_table(report.table(), out)
    if json:
        for line in report.json(top):
            print(line)
    else:
        from rich.console import Console

        Console(highlight=False).print(report.grid(top))
    if out is not None:
        logger.info("wrote %s: %s", out, count_rows(len(frame)))
