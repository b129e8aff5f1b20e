"""Verbs about tables: learn one, predict, say why, compare."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from regard.cli.app import app
from regard.core.errors import ConfigError, UserError, at_least

Task = Literal["auto", "classify", "regress"]
Mode = Literal["auto", "in_context", "trained"]
Kinds = Annotated[tuple[str, ...], Parameter(name="--kind")]

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
    seed: int = 0,
    overwrite: bool = False,
) -> None:
    """Learn a column of a table from the others, for `regard predict`.

    Parameters
    ----------
    table
        CSV and its kin, or Parquet; also packed. Empty cells are gaps, and need no care.
    target
        Name of the column to predict.
    out
        Run folder to write. It holds the rows of the table, which predictions look at.
    time_limit
        Seconds to learn, at most: small tables end sooner.
    task
        Whether the target names classes or is a number; auto looks at it.
    mode
        in_context reads the table with the shipped weights and trains nothing; trained trains a network of the table's
        own; auto goes on from the shipped weights.
    weights
        Run folder of `regard pretrain tables` whose weights to use in place of the shipped ones.
    kinds
        COLUMN=number, category or date, where the inferred kind is wrong.
    ignore
        Columns to leave out, such as identifiers, or what is not known yet when predictions are needed.
    seed
        Seed of every random number.
    overwrite
        Replace the run that the folder holds.
    """
    from shlex import quote

    from rich.console import Console

    from regard.store import RunFolder
    from regard.tables.columns import Columns
    from regard.tables.fitting import Way, fit_table
    from regard.tables.frames import named
    from regard.tables.keep import save
    from regard.tables.problem import pose
    from regard.tables.words import columns_grid, scores_line

    RunFolder(out).check_free(overwrite=overwrite)
    way = Way(mode, time_limit, seed, read_kinds(kinds), str(weights) if weights else None)
    problem = pose(table, target, task, way.kinds, ignore)
    with named(table):
        columns = Columns.learn(problem.features, way.kinds_of(problem))
    console = Console(highlight=False, soft_wrap=True)
    console.print(columns_grid(columns))
    for line in columns.remarks(problem.features):
        console.print(f"note: {line}", markup=False)
    for line in about_target(problem):
        console.print(line, markup=False)
    estimator, scores = fit_table(problem, way, say)
    save(estimator, out, overwrite=overwrite, more={"table": str(table), "scores": scores})
    if scores:
        console.print(f"on rows held out: {scores_line(scores)}", markup=False)
    run = quote(str(out))
    console.print(f"wrote {out}; next: regard predict {run} NEW.csv --out predictions.csv", markup=False)
    console.print(f"and why: regard explain {run} NEW.csv --row 0", markup=False)


@app.command
def predict(
    run: Path,
    table: Path,
    *,
    out: Path | None = None,
    keep: tuple[str, ...] = (),
    quantiles: tuple[float, ...] = (0.05, 0.5, 0.95),
) -> None:
    """Predict the target of each row of a table.

    Parameters
    ----------
    run
        Run folder of `regard fit`.
    table
        A table with the same columns; others, and the target, may be there too.
    out
        .csv, .tsv or .parquet to write; without it CSV goes to standard output.
    keep
        Columns of the table to write before the predictions as they are, such as an identifier.
    quantiles
        Of a predicted number, beside its mean.
    """
    from regard.data.tables.files import check_written, read_cells, read_table, table_text, write_table
    from regard.loading import load_table
    from regard.tables.frames import named
    from regard.tables.modes import check_levels
    from regard.tables.predictions import beside, check_kept, predictions

    if out is not None:
        check_written(out)
    estimator = load_table(run)
    check_levels(quantiles)
    with named(table):
        frame = read_table(table)
        for line in estimator.columns_.surprises(frame):
            say(f"note: {line}")
        check_kept(keep, list(frame))
        found = predictions(estimator, frame, quantiles)
    if keep:
        found = beside(read_cells(table, tuple(dict.fromkeys(keep))), found)
    if out is None:
        print(table_text(found), end="")
    else:
        write_table(found, out)
        say(f"wrote {out}: {len(found):,} rows")


@app.command
def explain(run: Path, table: Path, *, row: int = 0, top: int = 5) -> None:
    """Show what a prediction rested on: the cells of the row that mattered, and the known rows that it was told by.

    Parameters
    ----------
    run
        Run folder of `regard fit`.
    table
        A table with the same columns.
    row
        Which row of it; the first is 0.
    top
        How many known rows to show.
    """
    from rich.console import Console

    from regard.data.tables.files import read_table
    from regard.loading import load_table
    from regard.tables.frames import named
    from regard.tables.predictions import in_words, tell
    from regard.tables.words import evidence_grids

    at_least(1, top=top)
    estimator, frame = load_table(run), read_table(table)
    if not 0 <= row < len(frame):
        raise ConfigError(f"--row {row}: {table} has {len(frame):,} rows, the first of which is 0")
    asked = frame.iloc[[row]]
    with named(table):
        for line in estimator.columns_.surprises(asked):
            say(f"note: {line}")
        found = estimator.evidence(asked, top)
        told = tell(estimator, asked)
    console = Console(highlight=False)
    for name, own, (one,) in zip(estimator.target_names_, told, found if estimator.many_ else [found], strict=True):
        console.print(f"Row {row} of {table} (the first is 0): {in_words(own)}\n", markup=False, soft_wrap=True)
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
    """Compare with other models on a table: those of scikit-learn, and CatBoost, XGBoost, LightGBM where installed.

    Parameters
    ----------
    table
        CSV and its kin, or Parquet; also packed.
    target
        Name of the column to predict.
    folds
        How often other rows are held out.
    time_limit
        Seconds to learn a fold, for those that keep to a limit.
    task
        Whether the target names classes or is a number; auto looks at it.
    mode
        How ours learns, beside in_context.
    kinds
        COLUMN=number, category or date, where the inferred kind is wrong.
    ignore
        Columns to leave out, such as identifiers, or what is not known yet when predictions are needed.
    seed
        Seed of every random number.
    json
        Print one JSON object.
    """
    from regard.tables.compare import compare as compare_models
    from regard.tables.fitting import Way
    from regard.tables.frames import named
    from regard.tables.problem import pose
    from regard.tables.words import comparison_grid

    way = Way(mode, time_limit, seed, read_kinds(kinds))
    problem = pose(table, target, task, way.kinds, ignore)
    for line in about_target(problem):
        say(line)
    with named(table):
        measure, found = compare_models(problem, way, folds, say)
    for one in found:
        if one.error:
            say(f"note: {one.name} failed: {one.error}")
    if json:
        import json as writer

        print(writer.dumps({one.name: one.as_dict(measure) for one in found}))
        return
    from rich.console import Console

    Console(highlight=False, soft_wrap=True).print(comparison_grid(measure, found, folds))


def about_target(problem: "Problem") -> list[str]:
    """What was made of the target, in lines."""
    name, without = problem.target.name, problem.left_out
    told = [f"{name}: {'classes' if problem.classifies else 'numbers'}, for {problem.why}"]
    if without:
        rows = "1 row has" if without == 1 else f"{without:,} rows have"
        told.insert(0, f"note: {rows} no {name!r}, and {'is' if without == 1 else 'are'} left out")
    return told


def read_kinds(words: tuple[str, ...]) -> dict[str, str]:
    """COLUMN=kind, the last equals sign counting: a name may hold others."""
    kinds = {}
    for word in words:
        name, equals, kind = word.rpartition("=")
        if not equals or not name:
            raise ConfigError(f"--kind {word}: must be COLUMN=number, COLUMN=category or COLUMN=date")
        kinds[name] = kind
    return kinds


def say(line: str) -> None:
    """What goes on, beside the result."""
    print(line, file=sys.stderr, flush=True)


def evaluate_table(run: Path, files: tuple[Path, ...], **others: Any) -> dict[str, Any]:
    """Scores of a table's run on one file; options about text are refused."""
    from regard.data.tables.files import read_table
    from regard.loading import load_table
    from regard.tables.frames import named
    from regard.tables.scores import measure

    for name, given in others.items():
        if given:
            raise ConfigError(f"--{name}: is for text, and {run} holds a table")
    if len(files) != 1:
        raise UserError(f"{run}: holds a table, which is measured by one file, not {len(files)}")
    estimator = load_table(run)
    with named(files[0]):
        return measure(estimator, read_table(files[0]), str(files[0]))
