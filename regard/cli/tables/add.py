"""`regard fit --add`: rows that are added to a run."""

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli.results import put_json
from regard.cli.tables.notes import collected_notes

if TYPE_CHECKING:
    from regard.tables.persist.additions import AddedRows

logger = logging.getLogger("regard.tables")


def add_to_run(run: Path, table: Path, json: bool = False) -> None:
    """Add the rows of a table to a run, which is replaced whole; print what they gain."""
    from shlex import quote

    from rich.console import Console

    from regard.tables.added_scores import MIN_ROWS
    from regard.tables.rendering import scores_line

    with collected_notes() as notes:
        added, total, verdicts = _add(run, table)
    if json:
        put_json([{"run": str(run), **added.to_dict(), "total": total, "verdicts": verdicts, "notes": notes}])
    elif added.before:
        console = Console(highlight=False, soft_wrap=True)
        console.print(f"new rows, by the run as it was:          {scores_line(added.before)}", markup=False)
        console.print(f"new rows, with the other new rows added: {scores_line(added.after)}", markup=False)
        for verdict in verdicts:
            console.print(verdict, markup=False)
    if not added.before:
        logger.info("fewer than %s new rows: they are not scored", MIN_ROWS)
    first = added.first_row
    logger.info(
        "wrote %s: %s rows added, %s in all; row 0 of %s is row %s", run, added.rows, f"{total:,}", table, first
    )
    logger.info("next: regard predict %s NEW.csv --out predictions.csv", quote(str(run)))


def _add(run: Path, table: Path) -> tuple["AddedRows", int, list[str]]:
    """What was added, how many rows the run has now, and what the difference of the scores means."""
    import numpy as np
    import torch

    from regard.core.errors import UserError
    from regard.loading import load_table
    from regard.store import CONFIG, RunFolder, read_config
    from regard.tables.added_scores import added_scores
    from regard.tables.adding import add_rows, encode_addition, known_already, next_row
    from regard.tables.encode.column import shorten
    from regard.tables.encode.frames import errors_in
    from regard.tables.encode.growth import new_categories
    from regard.tables.persist.additions import AddedRows, read_added, save_added
    from regard.tables.persist.schema import Section
    from regard.tables.problem import read_known_rows

    estimator = load_table(run)
    RunFolder(run).check_free(overwrite=True)
    features, targets, dropped = read_known_rows(table, estimator.target_names_)
    if dropped:
        logger.warning("note: %s without a target: dropped", "1 row" if dropped == 1 else f"{dropped:,} rows")
    with errors_in(table):
        addition = encode_addition(estimator, features, targets)
        again = known_already(estimator, addition)
        if again.all():
            raise UserError(f"every row is in {run} already, with its target: there is nothing to add")
    if again.any():
        count = f"{again.sum():,} of {len(again):,} rows"
        logger.warning("note: %s %s in the run already: skipped", count, "is" if again.sum() == 1 else "are")
        features, addition = features[~again], addition.take(np.flatnonzero(~again))
    for name, new in new_categories(estimator.columns_, addition.columns):
        shown = ", ".join(repr(shorten(str(value))) for value in new[:3]) + (", …" if len(new) > 3 else "")
        logger.info("%r: new categories: %s", name, shown)
    before, after, verdicts = added_scores(estimator, addition)
    first = next_row(estimator)
    add_rows(estimator, addition, torch.from_numpy(first + features.index.to_numpy()))
    added = AddedRows(str(table), len(features), first, before, after)
    save_added(estimator, run, [*read_added(Section(run / CONFIG, read_config(run))), added])
    return added, len(estimator.rows_.unique()), verdicts
