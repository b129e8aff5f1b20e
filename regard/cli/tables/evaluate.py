"""`regard evaluate` of a fitted table."""

from pathlib import Path
from typing import Any

from regard.core.errors import ConfigError, UserError


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
