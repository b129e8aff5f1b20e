"""`regard explain`."""

import logging
from pathlib import Path

from regard.cli.app import app
from regard.core.errors import ConfigError, at_least

logger = logging.getLogger("regard.tables")


@app.command
def explain(
    run: Path,
    table: Path | None = None,
    *,
    row: int = 0,
    top: int = 5,
    query: str = "",
    json: bool = False,
    report: Path | None = None,
) -> None:
    """Show the evidence of a prediction: the effects of its columns, and the training rows that it depends on.

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
        Index of the row; the first is 0.
    top
        How many training rows to show.
    query
        SQL select on a SQLite or DuckDB file, which is opened read-only.
    json
        Print one JSON object for each target.
    report
        .html file to write, whole or not at all.
    """
    if report is not None:
        write_report(run, table, query, report)
        return
    if table is None:
        raise ConfigError(f"explain {run}: needs a table whose row is explained, or --report FILE.html")
    from regard.data.tables.files import read_table
    from regard.data.tables.source import read_source
    from regard.loading import load_table
    from regard.tables.data_checks import check_new_data
    from regard.tables.encode.frames import errors_in
    from regard.tables.predictions import predict_targets, sentence
    from regard.tables.rendering import evidence_grids, evidence_json

    at_least(1, top=top)
    source = read_source(table, query)
    estimator, frame = load_table(run), read_table(source)
    if not 0 <= row < len(frame):
        raise ConfigError(f"--row {row}: {source} has {len(frame):,} rows, the first of which is 0")
    query = frame.iloc[[row]]
    with errors_in(source):
        for line in check_new_data(estimator.columns_, query):
            logger.warning("note: %s", line)
        evidence = estimator.evidence(query, top)
        predicted = predict_targets(estimator, query)
    evidence = evidence if estimator.multi_output_ else [evidence]
    if json:
        for name, (one,) in zip(estimator.target_names_, evidence, strict=True):
            print(evidence_json(one, frame.iloc[row], name or "target"))
        return
    from rich.console import Console

    console = Console(highlight=False)
    for name, prediction, (one,) in zip(estimator.target_names_, predicted, evidence, strict=True):
        console.print(f"Row {row} of {source} (the first is 0): {sentence(prediction)}\n", markup=False, soft_wrap=True)
        for grid in evidence_grids(one, frame.iloc[row], name or "target"):
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
