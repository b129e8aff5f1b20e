"""`regard predict`."""

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli.app import app
from regard.cli.results import count_rows

if TYPE_CHECKING:
    from regard.data.tables.source import TableSource
    from regard.tables.persist.load import Estimator

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
    members: int | None = None,
    query: str = "",
    target: str | None = None,
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
        Of two classes, predict the one with fewer training rows, or of similar numbers 1, yes or true, from this
        probability on, instead of one half.
    members
        Ensemble members that predict, at most: with 2 of 8, a file takes a quarter of the time, and predictions are a
        little less accurate.
    query
        SQL select on a SQLite or DuckDB file, which is opened read-only.
    target
        Predict this column of the training rows instead, by the pre-trained network from the columns that the table
        has; the target of the run is one of them where the table holds it.
    """
    from regard.tables.ranges import check_levels, check_probability

    check_levels(quantiles)
    check_probability(threshold)
    from regard.cli.tables.notes import note_threshold
    from regard.data.tables.source import read_source

    source = read_source(table, query)
    check_files(run, source, out, keep, None if target else threshold)
    from regard.loading import load_table
    from regard.tables.fewer_members import with_members
    from regard.tables.rare_class import check_threshold
    from regard.tables.streaming import FilePredictions

    estimator = load_table(run)
    if target is not None:
        estimator = estimator_of(target, estimator, source)
    if members is not None:
        estimator = with_members(estimator, members)
    check_threshold(estimator, threshold)
    if threshold is None and target is None:
        note_threshold(run, estimator)
    predictions = FilePredictions(estimator, source, keep, quantiles, threshold)
    if out is None:
        for text in predictions.texts():
            print(text, end="")
    else:
        logger.info("wrote %s: %s", out, count_rows(predictions.write(out, run)))


def check_files(
    run: Path, table: "TableSource", out: Path | None, keep: tuple[str, ...], threshold: float | None
) -> None:
    """Refuse what the names of files, the header of the table and the config of the run rule out."""
    from regard.data.tables.files import check_written, table_chunks
    from regard.store import CONFIG, read_config
    from regard.tables.encode.frames import errors_in
    from regard.tables.ranges import check_columns, check_two_classes

    if out is not None:
        check_written(out)
    if threshold is not None and (run / CONFIG).is_file():  # a folder without one is refused when it is loaded
        check_two_classes(threshold, read_config(run))
    if keep:
        with errors_in(table):
            check_columns(keep, list(next(table_chunks(table)).frame()))


def estimator_of(target: str, estimator: "Estimator", table: "TableSource") -> "Estimator":
    """An estimator of another column of the training rows, from the columns of this table."""
    from regard.data.tables.files import table_chunks
    from regard.tables.any_column import retarget
    from regard.tables.encode.frames import errors_in

    if target in estimator.target_names_ and not estimator.multi_output_:
        return estimator
    with errors_in(table):
        other = retarget(estimator, target, next(table_chunks(table)).frame())
    names = ", ".join(str(name) for name in other.feature_names_in_)
    logger.info("%s: predicted from %s, with %s training rows", target, names, f"{len(other.rows_):,}")
    return other
