"""Load whatever a folder holds: a run, a fitted table, or a model of another library."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.core.errors import UserError
from regard.core.imports import uncollected
from regard.store import COLUMNS, read_config

if TYPE_CHECKING:
    import torch

    from regard.tables.persist.load import Estimator


def load(
    path: str | Path, *, dtype: "str | torch.dtype | None" = None, device: "str | torch.device | None" = None
) -> Any:
    """A `Run`, or the estimator of a fitted table, ready to use.

    `path` is a run folder of `regard train` or `regard fit`, a Hugging Face folder, or the name of a model in the local
    Hugging Face cache, such as "org/name"; nothing is downloaded. `dtype` is the precision of the weights in memory,
    such as "bfloat16": None for float32, "auto" for that of a Hugging Face file.
    """
    if holds_table(path):
        with uncollected():
            from regard.tables.persist.load import load as load_fitted

        return load_fitted(Path(path))
    from regard.tasks.run import load_run

    return load_run(path, dtype=dtype, device=device)


def holds_table(path: str | Path) -> bool:
    return (Path(path) / COLUMNS).exists()


def load_table(path: str | Path) -> "Estimator":
    """The classifier or regressor that `regard fit` has made; other runs are refused."""
    with uncollected():
        from regard.tables import NPTImputer
        from regard.tables.persist.load import load as load_fitted

    if not holds_table(path):
        read_config(Path(path))
        raise UserError(f"{path}: holds no table, as `regard fit` makes one; `regard show {path}` says what it is")
    estimator = load_fitted(Path(path))
    if isinstance(estimator, NPTImputer):
        raise UserError(f"{path}: imputes missing cells and predicts nothing; use regard.load({str(path)!r}) in Python")
    return estimator
