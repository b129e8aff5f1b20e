"""`regard predict`."""

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli.app import app

if TYPE_CHECKING:
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
    target: str | None = None,
) -> None:
    """Predict the target of each row of a table.

    Parameters
    ----------
    run
        Run folder of `regard fit`.
    table
        A table with the same columns; others, and the target, are ignored.
    out
        .csv, .tsv or .parquet file to write, whole or not at all; by default CSV goes to standard output. A large
        table is predicted in chunks, and if that is interrupted, the same command resumes there.
    keep
        Columns of the table to copy before the predictions, such as an identifier.
    quantiles
        Quantiles of a predicted number, beside its mean.
    threshold
        Of two classes, predict the one with fewer training rows from this probability on, instead of one half.
    target
        Predict this column of the training rows instead, by the pre-trained network from the columns that the table
        has; the target of the run is one of them where the table holds it.
    """
    from regard.data.tables.files import check_written
    from regard.loading import load_table
    from regard.tables.predictor import check_levels
    from regard.tables.rare_class import check_threshold
    from regard.tables.streaming import FilePredictions

    if out is not None:
        check_written(out)
    estimator = load_table(run)
    if target is not None:
        estimator = estimator_of(target, estimator, table)
    check_levels(quantiles)
    check_threshold(estimator, threshold)
    predictions = FilePredictions(estimator, table, keep, quantiles, threshold)
    if out is None:
        for text in predictions.texts():
            print(text, end="")
    else:
        logger.info("wrote %s: %s rows", out, f"{predictions.write(out, run):,}")


def estimator_of(target: str, estimator: "Estimator", table: Path) -> "Estimator":
    """An estimator of another column of the training rows, from the columns of this table."""
    from regard.data.tables.chunks import table_chunks
    from regard.tables.any_column import retarget
    from regard.tables.encode.frames import errors_in

    if target in estimator.target_names_ and not estimator.multi_output_:
        return estimator
    with errors_in(table):
        other = retarget(estimator, target, next(table_chunks(table)).frame())
    names = ", ".join(str(name) for name in other.feature_names_in_)
    logger.info("%s: predicted from %s, with %s training rows", target, names, f"{len(other.rows_):,}")
    return other
