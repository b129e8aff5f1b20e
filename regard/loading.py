"""Load whatever a folder holds: a run, a fitted table, or a model of another library."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.core.errors import UserError
from regard.store import COLUMNS, read_config

if TYPE_CHECKING:
    from regard.tables.persist.load import Estimator


def load(path: str | Path) -> Any:
    """A `Run`, or the estimator of a table, ready to use."""
    if holds_table(path):
        from regard.tables.persist.load import load as load_table

        return load_table(Path(path))
    from regard.interop import load as load_folder

    return load_folder(path)


def holds_table(path: str | Path) -> bool:
    return (Path(path) / COLUMNS).exists()


def load_table(path: str | Path) -> "Estimator":
    """What `regard fit` has made of a table; other runs are refused."""
    from regard.tables import NPTImputer
    from regard.tables.persist.load import load as load_saved

    if not holds_table(path):
        read_config(Path(path))
        raise UserError(f"{path}: holds no table, as `regard fit` makes one; `regard show {path}` tells what it does")
    found = load_saved(Path(path))
    if isinstance(found, NPTImputer):
        raise UserError(f"{path}: fills gaps and predicts nothing; use it in Python: regard.load({str(path)!r})")
    return found
