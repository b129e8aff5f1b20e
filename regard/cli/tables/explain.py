"""`regard explain`."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from regard.cli.app import app
from regard.cli.results import check_out, count_rows, put_json
from regard.core.errors import ConfigError, at_least

if TYPE_CHECKING:
    from regard.data.tables.source import TableSource
    from regard.tables.explanations import Explanation

logger = logging.getLogger("regard.tables")


@app.command
def explain(
    run: Path,
    table: Path | None = None,
    *,
    row: tuple[int | Literal["all"], ...] = (0,),
    top: int = 5,
    query: str = "",
    json: bool = False,
    out: Path | None = None,
    report: Path | None = None,
) -> None:
    """Show the evidence of predictions: the effects of their columns, and the training rows that they depend on.

    With `--report`, write a page about the whole model instead: scores beside baselines, calibration, mistakes,
    importances of columns, deciding rows, warnings.

    Parameters
    ----------
    run
        Run folder of `regard fit`.
    table
        A table with the same columns, from a file as for `regard fit`. For a report, one with the target, which the
        model has not seen; without it, training rows are held out and predicted by models fitted without them.
    row
        Index of the row; the first is 0. Several rows, or `all`, give a table with their effects side by side.
    top
        How many training rows to show, of a single row and in JSON.
    query
        SQL select on a SQLite or DuckDB file, which is opened read-only.
    json
        Print a JSON object for each row and target, each on a line.
    out
        File to write: a table of effects (.csv, .tsv, .parquet), or those JSON objects (.json, .jsonl).
    report
        .html file to write, whole or not at all.
    """
    if report is not None:
        write_report(run, table, query, report)
        return
    if table is None:
        raise ConfigError(f"explain {run}: needs a table whose row is explained, or --report FILE.html")
    from regard.cli.tables.bar import progress_bar
    from regard.data.tables.files import read_table
    from regard.data.tables.source import read_source
    from regard.loading import load_table
    from regard.tables.data_checks import check_new_data
    from regard.tables.encode.frames import errors_in
    from regard.tables.explanations import explain_rows
    from regard.tables.rendering import evidence_json

    at_least(1, top=top)
    json = check_out(out, tables=True, as_json=json)
    source = read_source(table, query)
    estimator, frame = load_table(run), read_table(source)
    rows = _rows(row, len(frame), source)
    with errors_in(source), progress_bar():
        for line in check_new_data(estimator.columns_, frame.iloc[rows]):
            logger.warning("note: %s", line)
        explanations = list(explain_rows(estimator, frame, rows, top))
    if json:
        put_json([evidence_json(one.evidence, one.cells, one.target, one.row) for one in explanations], out)
    elif out is not None:
        from regard.data.tables.files import write_table
        from regard.tables.explanations import effects_table

        write_table(effects_table(explanations), out)
        logger.info("wrote %s: the effects of %s", out, count_rows(len(rows)))
    else:
        _show(explanations, source)


def _rows(numbers: Sequence[int | str], count: int, table: "TableSource") -> list[int]:
    if "all" in numbers:
        return list(range(count))
    rows = [number for number in dict.fromkeys(numbers) if isinstance(number, int)]
    for number in rows:
        if not 0 <= number < count:
            raise ConfigError(f"--row {number}: {table} has {count:,} rows, the first of which is 0")
    return rows


def _show(explanations: Sequence["Explanation"], table: "TableSource") -> None:
    """The evidence of one row, or the effects of several."""
    from rich.console import Console

    from regard.tables.predictions import sentence
    from regard.tables.rendering import MAX_KEYS, effects_grid, evidence_grids

    console = Console(highlight=False)
    if len({one.row for one in explanations}) > 1:
        console.print(effects_grid(explanations))
        return
    for one in explanations:
        keys = "".join(f"; {name} {cell}" for name, cell in list(one.keys.items())[:MAX_KEYS] if cell is not None)
        head = f"Row {one.row} of {table} (the first is 0{keys}): {sentence(one.prediction)}\n"
        console.print(head, markup=False, soft_wrap=True)
        for grid in evidence_grids(one.evidence, one.cells, one.target):
            console.print(grid, "")


def write_report(run: Path, table: Path | None, query: str, out: Path) -> None:
    """The page about a fitted table."""
    from regard.data.tables.source import read_source
    from regard.loading import load_table
    from regard.tables.report import report_run

    if out.suffix.lower() not in (".html", ".htm"):
        raise ConfigError(f"--report {out}: is written as .html, not {out.suffix or 'without an ending'}")
    page = report_run(run, load_table(run), None if table is None else read_source(table, query))
    page.save(out)
    logger.info("wrote %s: open it in a browser, or print it", out)
