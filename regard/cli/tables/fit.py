"""`regard fit`."""

import logging
from pathlib import Path

from regard.cli.app import app
from regard.cli.results import put_json
from regard.cli.tables.notes import collected_notes
from regard.cli.tables.options import Kinds, Mode, Task, log_target, read_kinds

logger = logging.getLogger("regard.tables")


@app.command
def fit(
    table: Path,
    *,
    target: str,
    out: Path,
    time_limit: float = 60.0,
    task: Task = "auto",
    mode: Mode = "auto",
    weights: Path | None = None,
    kinds: Kinds = (),
    ignore: tuple[str, ...] = (),
    time: str | None = None,
    group: str | None = None,
    cost: str | None = None,
    seed: int = 0,
    overwrite: bool = False,
    json: bool = False,
) -> None:
    """Fit a model that predicts one column of a table from the others, for `regard predict`.

    Parameters
    ----------
    table
        CSV, TSV or Parquet, also compressed. Empty cells are missing values.
    target
        Name of the column to predict.
    out
        Run folder to write. It contains the rows of the table, which predictions attend to.
    time_limit
        Seconds to fit, at most.
    task
        Classification or regression; auto infers it from the target.
    mode
        in_context predicts with the pre-trained network and trains nothing; auto also trains on the table: learned
        keys, and fine-tuned copies of the network (up to 3,000 rows) or boosted trees (more); attention is auto without
        trees; scratch trains an NPT on this table alone.
    weights
        Run folder of `regard pretrain tables` to use instead of the shipped weights.
    kinds
        COLUMN=number, category, date or text, if the inferred kind is wrong.
    ignore
        Columns that are no features, such as identifiers, or those that are unknown at prediction time; they are
        kept in the run folder, and `regard explain` shows them with its training rows.
    time
        Column of dates or numbers: the last rows are held out for the score, as when the future is predicted.
    group
        Column whose groups, such as the visits of a patient, are held out together; it is no feature.
    cost
        FALSE_ALARM:MISS of the rarer of two classes, such as 1:20: propose the threshold for `regard predict` that
        costs least on held-out rows, beside the one with the best F1.
    seed
        Random seed.
    overwrite
        Replace an existing run in the folder.
    json
        Print one JSON object: columns, scores, thresholds, notes.
    """
    from shlex import quote

    from rich.console import Console

    from regard.cli.tables.bar import progress_bar
    from regard.store import RunFolder
    from regard.tables.costs import read_cost
    from regard.tables.data_checks import check_training_data
    from regard.tables.encode.columns import Columns
    from regard.tables.encode.frames import errors_in
    from regard.tables.fit_settings import FitSettings
    from regard.tables.fitting import fit_problem
    from regard.tables.persist.save import save
    from regard.tables.problem import read_problem
    from regard.tables.rendering import columns_grid, scores_line
    from regard.tables.summary import fit_summary

    RunFolder(out).check_free(overwrite=overwrite)
    files = str(weights) if weights else None
    costs = None if cost is None else read_cost(cost)
    settings = FitSettings(mode, time_limit, seed, read_kinds(kinds), files, time, group, costs)
    console = Console(highlight=False, soft_wrap=True, quiet=json)
    with collected_notes() as notes:
        problem = read_problem(table, target, task, settings.kinds, ignore)
        with errors_in(table):
            features = problem.features.drop(columns=[group] if group in problem.features else [])
            columns = Columns.describe(features, settings.feature_kinds(problem))
        console.print(columns_grid(columns))
        for line in check_training_data(columns, features):
            logger.warning("note: %s", line)
        log_target(problem)
        with progress_bar(None if mode == "in_context" else time_limit):
            estimator, scores = fit_problem(problem, settings)
    save(estimator, out, overwrite=overwrite, extra={"table": str(table), "scores": scores})
    if json:
        put_json([{"run": str(out), "table": str(table), **fit_summary(problem, columns, estimator, scores, notes)}])
    if scores:
        console.print(f"on held-out rows: {scores_line(scores)}", markup=False)
    run = quote(str(out))
    logger.info("wrote %s; next: regard predict %s NEW.csv --out predictions.csv", out, run)
    logger.info("and for its evidence: regard explain %s NEW.csv --row 0", run)
