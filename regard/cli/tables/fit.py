"""`regard fit`."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli.app import app
from regard.cli.results import put_json
from regard.cli.tables.add import add_to_run
from regard.cli.tables.notes import collected_notes
from regard.cli.tables.options import Kinds, Mode, Task, log_target, read_kinds
from regard.core.errors import ConfigError

if TYPE_CHECKING:
    from regard.tables.problem import Problem

logger = logging.getLogger("regard.tables")


@app.command
def fit(
    tables: tuple[Path, ...] = (),
    *,
    target: tuple[str, ...] = (),
    out: Path,
    add: Path | None = None,
    time_limit: float = 60.0,
    task: Task = "auto",
    mode: Mode = "auto",
    weights: Path | None = None,
    kinds: Kinds = (),
    ignore: tuple[str, ...] = (),
    time: str | None = None,
    group: str | None = None,
    query: str = "",
    cost: str | None = None,
    seed: int = 0,
    overwrite: bool = False,
    json: bool = False,
) -> None:
    """Fit a model that predicts a column of a table from the others, for `regard predict`; or add rows to one.

    Parameters
    ----------
    tables
        CSV, TSV, Parquet, JSON, .xlsx, .ods, SQLite or DuckDB; FILE::NAME is a sheet or table in the file, - is
        standard input. Several files with the same columns are one table. Empty cells are missing values.
    target
        Name of the column to predict; or of several, all classes or all numbers.
    out
        Run folder to write. It contains the rows of the table, which predictions attend to.
    add
        A table whose rows are added to the run in the folder: predictions then attend to them too. Nothing is trained.
        Goes with --out and --json alone.
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
    query
        SQL select on a SQLite or DuckDB file, which is opened read-only.
    cost
        FALSE_ALARM:MISS of the rarer of two classes, such as 1:20: propose the threshold for `regard predict` that
        costs least on held-out rows, beside the one with the best F1.
    seed
        Random seed.
    overwrite
        Replace an existing run in the folder.
    json
        Print one JSON object: columns, scores, thresholds, notes; with --add what was added and the scores of that.
    """
    if add is not None:
        others = (tables, target, kinds, ignore, weights, time, group, query, cost, overwrite)
        if any(others) or (task, mode, time_limit, seed) != ("auto", "auto", 60.0, 0):
            raise ConfigError(
                "--add: goes with --out and --json alone; table, target and settings are those of the run"
            )
        add_to_run(out, add, json)
        return
    _check_named(tables, target)
    from rich.console import Console

    from regard.cli.tables.bar import progress_bar
    from regard.data.tables.source import read_sources
    from regard.store import RunFolder
    from regard.tables.costs import read_cost
    from regard.tables.data_checks import check_training_data
    from regard.tables.encode.columns import Columns
    from regard.tables.encode.frames import errors_in
    from regard.tables.fit_settings import FitSettings
    from regard.tables.fitting import check_settings, fit_problems
    from regard.tables.persist.save import save
    from regard.tables.rendering import columns_grid, scores_line
    from regard.tables.several_targets import read_problems
    from regard.tables.summary import fit_summary

    RunFolder(out).check_free(overwrite=overwrite)
    files, costs = str(weights) if weights else None, None if cost is None else read_cost(cost)
    settings = FitSettings(mode, time_limit, seed, read_kinds(kinds), files, time, group, costs)
    console = Console(highlight=False, soft_wrap=True, quiet=json)
    table = read_sources(tables, query)
    with collected_notes() as notes:
        problems = read_problems(table, target, task, settings.kinds, ignore)
        with errors_in(table):
            check_settings(problems[0], settings)
            features = problems[0].features.drop(columns=[group] if group in problems[0].features else [])
            columns = Columns.describe(features, settings.feature_kinds(*problems))
        console.print(columns_grid(columns))
        for line in check_training_data(columns, features):
            logger.warning("note: %s", line)
        log_target(*problems)
        with progress_bar(None if mode == "in_context" else time_limit):
            estimator, scores = fit_problems(problems, settings)
    origin = {**_origin(tables, query, time, group), **_stored_options(task, problems, settings.kinds or {}, cost)}
    save(estimator, out, overwrite=overwrite, extra={**origin, "scores": scores})
    if json:
        put_json([{"run": str(out), **origin, **fit_summary(problems, columns, estimator, scores, notes)}])
    if scores:
        console.print(f"on held-out rows: {scores_line(scores)}", markup=False)
    _log_next(out)


def _log_next(out: Path) -> None:
    from shlex import quote

    run = quote(str(out))
    logger.info("wrote %s; next: regard predict %s NEW.csv --out predictions.csv", out, run)
    logger.info("and for its evidence: regard explain %s NEW.csv --row 0", run)
    logger.info("and for a page about it: regard explain %s --report report.html", run)


def _check_named(tables: tuple[Path, ...], target: tuple[str, ...]) -> None:
    if not tables:
        hint = " before --target" if target and Path(target[-1]).is_file() else ""
        raise ConfigError(f"fit: name the table{hint}")
    if not target:
        raise ConfigError("fit: --target is missing; add the column to predict, such as --target price")


def _stored_options(
    task: Task, problems: "Sequence[Problem]", kinds: Mapping[str, str], cost: str | None
) -> dict[str, str]:
    """What else a run keeps of the options, for the commands that a report proposes."""
    if any(one.target.name in kinds for one in problems):
        task = "classify" if problems[0].classifies else "regress"
    return {**({} if task == "auto" else {"task": task}), **({} if cost is None else {"cost": cost})}


def _origin(tables: tuple[Path, ...], query: str, time: str | None, group: str | None) -> dict[str, str]:
    """Where the rows come from and how some were held out, as the run keeps it."""
    from shlex import join

    name = str(tables[0]) if len(tables) == 1 else join(map(str, tables))
    split = f"--time {time}" if time is not None else f"--group {group}" if group is not None else ""
    return {key: value for key, value in (("table", name), ("query", query), ("split", split)) if value}
