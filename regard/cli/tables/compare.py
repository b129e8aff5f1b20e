"""`regard compare`."""

import logging
from pathlib import Path

from regard.cli.app import app
from regard.cli.results import check_out, put_json
from regard.cli.tables.options import Kinds, Mode, Task, log_target, read_kinds

logger = logging.getLogger("regard.tables")


@app.command
def compare(
    tables: tuple[Path, ...],
    *,
    target: str,
    folds: int = 5,
    time_limit: float = 20.0,
    task: Task = "auto",
    mode: Mode = "auto",
    kinds: Kinds = (),
    ignore: tuple[str, ...] = (),
    time: str | None = None,
    group: str | None = None,
    query: str = "",
    seed: int = 0,
    json: bool = False,
    out: Path | None = None,
) -> None:
    """Compare with baselines by cross-validation: scikit-learn, and CatBoost, XGBoost, LightGBM if installed.

    Parameters
    ----------
    tables
        Files as for `regard fit`.
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
    time
        Column of dates or numbers: the folds are the parts of the later half, each predicted from all rows before it.
    group
        Column whose groups, such as the visits of a patient, are held out together; it is no feature.
    query
        SQL select on a SQLite or DuckDB file, which is opened read-only.
    seed
        Random seed.
    json
        Print one JSON object.
    out
        File to write: the scores as a table (.csv, .tsv, .parquet) or as that JSON object (.json).
    """
    from regard.cli.tables.bar import progress_bar
    from regard.data.tables.source import read_sources
    from regard.tables.compare import compare as compare_models
    from regard.tables.encode.frames import errors_in
    from regard.tables.fit_settings import FitSettings
    from regard.tables.problem import read_problem
    from regard.tables.rendering import comparison_grid

    json = check_out(out, tables=True, as_json=json)
    settings = FitSettings(mode, time_limit, seed, read_kinds(kinds), time=time, group=group)
    table = read_sources(tables, query)
    problem = read_problem(table, target, task, settings.kinds, ignore)
    log_target(problem)
    with errors_in(table), progress_bar():
        metric, scores = compare_models(problem, settings, folds)
    for one in scores:
        if one.error:
            logger.warning("note: %s failed: %s", one.name, one.error)
    if json:
        put_json([{one.name: one.as_dict(metric) for one in scores}], out)
        return
    if out is not None:
        from regard.data.tables.files import write_table
        from regard.tables.compare import comparison_table

        write_table(comparison_table(metric, scores), out)
        logger.info("wrote %s", out)
    from rich.console import Console

    Console(highlight=False, soft_wrap=True).print(comparison_grid(metric, scores, folds))
