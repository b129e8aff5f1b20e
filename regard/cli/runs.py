"""Verbs for runs as a whole: the demo, evaluating, showing."""

from pathlib import Path
from typing import Any

from regard.cli.app import app
from regard.cli.results import check_out, put_json
from regard.cli.tables import evaluate_table
from regard.core.errors import ConfigError, at_least
from regard.tasks.options import strings


@app.command
def demo(*, out: Path = Path("runs/demo"), quick: bool = False) -> int:
    """Predict from a table, train a translator of dates and a language model, and show their attention: two minutes.

    Parameters
    ----------
    out
        Folder for the three runs; what an earlier demo left there is replaced.
    quick
        A few steps only, to see that everything runs.
    """
    from regard.demo import run_demo

    return run_demo(out, quick)


@app.command
def evaluate(
    run: Path,
    *files: Path,
    json: bool = False,
    beam: int | None = None,
    max_tokens: int | None = None,
    trees: tuple[Path, ...] = (),
    columns: tuple[str, ...] = (),
    threshold: float | None = None,
    query: str = "",
    out: Path | None = None,
) -> None:
    """Evaluate a run on files that it was not trained on.

    Parameters
    ----------
    run
        Run folder, or a Hugging Face folder.
    files
        Files as in training: running text, labelled texts, images (of idx files and .npz their test split), or for a
        translator two parallel files or one of pairs; a summariser is compared with the first words of each document.
        For a table, files with the target in it, as for `regard fit`.
    json
        Print one JSON object.
    beam
        Beam width of a translator or a summariser.
    max_tokens
        Maximum number of tokens that a translator or a summariser writes for a line.
    trees
        CoNLL-U files with the dependency tree of each source, or of each labelled text.
    columns
        Names of the columns, as in training, if these files name them differently.
    threshold
        For a table with two classes: the probability from which on the rarer one is predicted.
    query
        For a table: SQL select on a SQLite or DuckDB file, which is opened read-only.
    out
        .json file to write the JSON object to.
    """
    from regard.decode import Beam
    from regard.loading import holds_table
    from regard.tasks.base import EvalOptions
    from regard.tasks.evaluation import evaluate as evaluate_run
    from regard.tasks.run import load_run

    at_least(1, beam=beam, max_tokens=max_tokens)
    check_out(out)
    if not files:
        raise ConfigError("evaluate: name the files to evaluate on")
    if holds_table(run):
        others = {"beam": beam, "max_tokens": max_tokens, "trees": trees, "columns": columns}
        put_scores(evaluate_table(run, files, threshold, query, **others), json, out)
        return
    if threshold is not None or query:
        option = "--query" if query else "--threshold"
        raise ConfigError(f"{option}: is for tables, and {run} holds none")
    options = EvalOptions(
        max_tokens=max_tokens, beam=None if beam in (None, 1) else Beam(beam), trees=strings(trees), columns=columns
    )
    put_scores(evaluate_run(load_run(run), strings(files), options), json, out)


def put_scores(scores: dict[str, Any], as_json: bool, out: Path | None) -> None:
    """As lines for people or as JSON; in a file always as JSON."""
    if not as_json:
        print_scores(scores)
    if as_json or out is not None:
        put_json([scores], out)


def print_scores(scores: dict[str, Any]) -> None:
    for name, value in scores.items():
        if isinstance(value, dict) and all(isinstance(row, dict) for row in value.values()):
            print_table(name, until_all_detected(value) if name.rpartition(".")[2] == "lift" else value)
        elif isinstance(value, dict):
            print_scores({f"{name}.{part}": part_value for part, part_value in value.items()})
        else:
            print(f"{name}: {_score(value)}")


def until_all_detected(lift: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """The rows of a table of lift up to the one that holds the whole class: the others add nothing."""
    complete = [place for place, row in enumerate(lift.values()) if row["gain"] >= 1]
    return dict(list(lift.items())[: complete[0] + 1]) if complete else lift


def print_table(name: str, rows: dict[str, dict[str, Any]]) -> None:
    """Scores by row and column, such as a confusion matrix."""
    heads = list(dict.fromkeys(head for row in rows.values() for head in row))
    cells = [[row, *(_score(each.get(head, "")) for head in heads)] for row, each in rows.items()]
    lines = [[f"{name}:", *heads], *cells]
    widths = [max(len(line[place]) for line in lines) for place in range(len(heads) + 1)]
    for first, *others in lines:
        right = (cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))
        print("  ".join([first.ljust(widths[0]), *right]))


def _score(value: Any) -> str:
    if value is None:
        return "–"
    if not isinstance(value, float) or abs(value) < 100:
        return f"{value:.4f}" if isinstance(value, float) else str(value)
    from regard.tables.plain_numbers import plain_number

    return plain_number(value, 6)


@app.command
def show(run: Path) -> None:
    """Show what a run folder holds: the model, its size, how it was trained, its last scores.

    Parameters
    ----------
    run
        Run folder, or a Hugging Face folder.
    """
    from regard.describe import describe_run

    print(describe_run(run))
