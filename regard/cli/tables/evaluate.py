"""`regard evaluate` of a fitted table."""

from pathlib import Path
from typing import Any

from regard.core.errors import ConfigError


def evaluate_table(
    run: Path, files: tuple[Path, ...], threshold: float | None = None, query: str = "", **others: Any
) -> dict[str, Any]:
    """Scores of a fitted table on one file or several with the same columns; options for text are refused."""
    from regard.cli.tables.notes import note_threshold, note_training_rows
    from regard.data.tables.files import read_table
    from regard.data.tables.source import read_sources
    from regard.loading import load_table
    from regard.tables.encode.frames import errors_in
    from regard.tables.scores import evaluate

    for name, value in others.items():
        if value:
            raise ConfigError(f"--{name}: is for text, and {run} holds a table")
    table = read_sources(files, query)
    estimator = load_table(run)
    with errors_in(table):
        scores = evaluate(estimator, read_table(table), str(table), threshold)
    note_training_rows(scores)
    if threshold is None:
        note_threshold(run, estimator)
    return scores
