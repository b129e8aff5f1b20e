"""`regard predict`."""

import logging
from pathlib import Path

from regard.cli.app import app

logger = logging.getLogger("regard.tables")


@app.command
def predict(
    run: Path,
    table: Path,
    *,
    out: Path | None = None,
    keep: tuple[str, ...] = (),
    quantiles: tuple[float, ...] = (0.05, 0.5, 0.95),
    threshold: float | None = None,
    query: str = "",
) -> None:
    """Predict the target of each row of a table.

    Parameters
    ----------
    run
        Run folder of `regard fit`.
    table
        A table with the same columns, from a file as for `regard fit`; others, and the target, are ignored.
    out
        File to write, whole or not at all: .csv, .tsv, .parquet, .json, .jsonl, .xlsx, .ods, or a table of a database,
        such as shop.sqlite::predictions; by default CSV goes to standard output. A large table is predicted in
        chunks, and if that is interrupted, the same command resumes there.
    keep
        Columns of the table to copy before the predictions, such as an identifier.
    quantiles
        Quantiles of a predicted number, beside its mean.
    threshold
        Of two classes, predict the one with fewer training rows from this probability on, instead of one half.
    query
        SQL select on a SQLite or DuckDB file, which is opened read-only.
    """
    from regard.data.tables.files import check_written
    from regard.data.tables.source import read_source
    from regard.loading import load_table
    from regard.tables.predictor import check_levels
    from regard.tables.rare_class import check_threshold
    from regard.tables.streaming import FilePredictions

    if out is not None:
        check_written(out)
    estimator = load_table(run)
    check_levels(quantiles)
    check_threshold(estimator, threshold)
    predictions = FilePredictions(estimator, read_source(table, query), keep, quantiles, threshold)
    if out is None:
        for text in predictions.texts():
            print(text, end="")
    else:
        logger.info("wrote %s: %s rows", out, f"{predictions.write(out, run):,}")
