"""`regard explain`."""

import logging
from pathlib import Path

from regard.cli.app import app
from regard.core.errors import ConfigError, at_least

logger = logging.getLogger("regard.tables")


@app.command
def explain(run: Path, table: Path, *, row: int = 0, top: int = 5, query: str = "", json: bool = False) -> None:
    """Show the evidence of a prediction: the effects of its columns, and the training rows that it depends on.

    Parameters
    ----------
    run
        Run folder of `regard fit`.
    table
        A table with the same columns, from a file as for `regard fit`.
    row
        Index of the row; the first is 0.
    top
        How many training rows to show.
    query
        SQL select on a SQLite or DuckDB file, which is opened read-only.
    json
        Print one JSON object for each target.
    """
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
