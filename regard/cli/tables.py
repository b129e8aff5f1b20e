"""Verbs of tables: fit, predict, explain, compare."""

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from regard.cli.app import app
from regard.core.errors import ConfigError, UserError, at_least

Task = Literal["auto", "classify", "regress"]
Mode = Literal["auto", "attention", "in_context", "scratch"]
Kinds = Annotated[tuple[str, ...], Parameter(name="--kind")]

logger = logging.getLogger("regard.tables")

if TYPE_CHECKING:
    from regard.tables.problem import Problem


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
    seed: int = 0,
    overwrite: bool = False,
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
        Columns to drop, such as identifiers, or those that are unknown at prediction time.
    time
        Column of dates or numbers: the last rows are held out for the score, as when the future is predicted.
    group
        Column whose groups, such as the visits of a patient, are held out together; it is no feature.
    seed
        Random seed.
    overwrite
        Replace an existing run in the folder.
    """
    from shlex import quote

    from rich.console import Console

    from regard.store import RunFolder
    from regard.tables.data_checks import check_training_data
    from regard.tables.encode.columns import Columns
    from regard.tables.encode.frames import errors_in
    from regard.tables.fit_settings import FitSettings
    from regard.tables.fitting import fit_problem
    from regard.tables.persist.save import save
    from regard.tables.problem import read_problem
    from regard.tables.rendering import columns_grid, scores_line

    RunFolder(out).check_free(overwrite=overwrite)
    settings = FitSettings(mode, time_limit, seed, read_kinds(kinds), str(weights) if weights else None, time, group)
    problem = read_problem(table, target, task, settings.kinds, ignore)
    with errors_in(table):
        features = problem.features.drop(columns=[group] if group in problem.features else [])
        columns = Columns.describe(features, settings.feature_kinds(problem))
    console = Console(highlight=False, soft_wrap=True)
    console.print(columns_grid(columns))
    for line in check_training_data(columns, features):
        logger.warning("note: %s", line)
    log_target(problem)
    estimator, scores = fit_problem(problem, settings)
    save(estimator, out, overwrite=overwrite, extra={"table": str(table), "scores": scores})
    if scores:
        console.print(f"on held-out rows: {scores_line(scores)}", markup=False)
    run = quote(str(out))
    logger.info("wrote %s; next: regard predict %s NEW.csv --out predictions.csv", out, run)
    logger.info("and for its evidence: regard explain %s NEW.csv --row 0", run)


@app.command
def predict(
    run: Path,
    table: Path,
    *,
    out: Path | None = None,
    keep: tuple[str, ...] = (),
    quantiles: tuple[float, ...] = (0.05, 0.5, 0.95),
    threshold: float | None = None,
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
    """
    from regard.data.tables.files import check_written
    from regard.loading import load_table
    from regard.tables.predictor import check_levels
    from regard.tables.rare_class import check_threshold
    from regard.tables.streaming import FilePredictions

    if out is not None:
        check_written(out)
    estimator = load_table(run)
    check_levels(quantiles)
    check_threshold(estimator, threshold)
    predictions = FilePredictions(estimator, table, keep, quantiles, threshold)
    if out is None:
        for text in predictions.texts():
            print(text, end="")
    else:
        logger.info("wrote %s: %s rows", out, f"{predictions.write(out, run):,}")


@app.command
def explain(run: Path, table: Path, *, row: int = 0, top: int = 5, json: bool = False) -> None:
    """Show the evidence of a prediction: the effects of its columns, and the training rows that it depends on.

    Parameters
    ----------
    run
        Run folder of `regard fit`.
    table
        A table with the same columns.
    row
        Index of the row; the first is 0.
    top
        How many training rows to show.
    json
        Print one JSON object for each target.
    """
    from regard.data.tables.files import read_table
    from regard.loading import load_table
    from regard.tables.data_checks import check_new_data
    from regard.tables.encode.frames import errors_in
    from regard.tables.predictions import predict_targets, sentence
    from regard.tables.rendering import evidence_grids, evidence_json

    at_least(1, top=top)
    estimator, frame = load_table(run), read_table(table)
    if not 0 <= row < len(frame):
        raise ConfigError(f"--row {row}: {table} has {len(frame):,} rows, the first of which is 0")
    query = frame.iloc[[row]]
    with errors_in(table):
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
        console.print(f"Row {row} of {table} (the first is 0): {sentence(prediction)}\n", markup=False, soft_wrap=True)
        for grid in evidence_grids(one, frame.iloc[row], name or "target"):
            console.print(grid, "")


@app.command
def compare(
    table: Path,
    *,
    target: str,
    folds: int = 5,
    time_limit: float = 20.0,
    task: Task = "auto",
    mode: Mode = "auto",
    kinds: Kinds = (),
    ignore: tuple[str, ...] = (),
    seed: int = 0,
    json: bool = False,
) -> None:
    """Compare with baselines by cross-validation: scikit-learn, and CatBoost, XGBoost, LightGBM if installed.

    Parameters
    ----------
    table
        CSV, TSV or Parquet, also compressed.
    target
        Name of the column to predict.
    folds
        Number of cross-validation folds.
    time_limit
        Seconds to fit a fold, for models with a limit.
    task
        Classification or regression; auto infers it from the target.
    mode
        Mode of the NPT, beside in_context.
    kinds
        COLUMN=number, category, date or text, if the inferred kind is wrong.
    ignore
        Columns to drop, such as identifiers, or those that are unknown at prediction time.
    seed
        Random seed.
    json
        Print one JSON object.
    """
    from regard.tables.compare import compare as compare_models
    from regard.tables.encode.frames import errors_in
    from regard.tables.fit_settings import FitSettings
    from regard.tables.problem import read_problem
    from regard.tables.rendering import comparison_grid

    settings = FitSettings(mode, time_limit, seed, read_kinds(kinds))
    problem = read_problem(table, target, task, settings.kinds, ignore)
    log_target(problem)
    with errors_in(table):
        metric, scores = compare_models(problem, settings, folds)
    for one in scores:
        if one.error:
            logger.warning("note: %s failed: %s", one.name, one.error)
    if json:
        import json as writer

        print(writer.dumps({one.name: one.as_dict(metric) for one in scores}))
        return
    from rich.console import Console

    Console(highlight=False, soft_wrap=True).print(comparison_grid(metric, scores, folds))


def log_target(problem: "Problem") -> None:
    """Say how the target is read."""
    if problem.dropped:
        rows = "1 row has" if problem.dropped == 1 else f"{problem.dropped:,} rows have"
        logger.warning("note: %s no %r: dropped", rows, problem.target.name)
    task = "classification" if problem.classifies else "regression"
    logger.info("%s: %s (%s)", problem.target.name, task, problem.reason)


def read_kinds(words: tuple[str, ...]) -> dict[str, str]:
    """COLUMN=kind, the last equals sign counting: a name may hold others."""
    kinds = {}
    for word in words:
        name, equals, kind = word.rpartition("=")
        if not equals or not name:
            raise ConfigError(f"--kind {word}: must be COLUMN=number, =category, =date or =text")
        kinds[name] = kind
    return kinds


def evaluate_table(run: Path, files: tuple[Path, ...], threshold: float | None = None, **others: Any) -> dict[str, Any]:
    """Scores of a fitted table on one file; options for text are refused."""
    from regard.data.tables.files import read_table
    from regard.loading import load_table
    from regard.tables.encode.frames import errors_in
    from regard.tables.scores import evaluate

    for name, value in others.items():
        if value:
            raise ConfigError(f"--{name}: is for text, and {run} holds a table")
    if len(files) != 1:
        raise UserError(f"{run}: holds a table, which is evaluated on one file, not {len(files)}")
    estimator = load_table(run)
    with errors_in(files[0]):
        return evaluate(estimator, read_table(files[0]), str(files[0]), threshold)
