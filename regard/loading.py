"""Load whatever a folder holds: a run, a fitted table, or a model of another library."""

from pathlib import Path
from typing import Any

from regard.run import COLUMNS


def load(path: str | Path) -> Any:
    """A `Run`, or the estimator of a table, ready to use."""
    if (Path(path) / COLUMNS).exists():
        from regard.tables.keep import load as load_table

        return load_table(Path(path))
    from regard.interop import load as load_folder

    return load_folder(path)
