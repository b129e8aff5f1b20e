"""A supervised problem read from a file: features, target, and whether it is classification or regression."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from regard.core.errors import ConfigError, UserError
from regard.data.tables.files import read_table
from regard.data.tables.source import Tables
from regard.data.tables.types import most_amounts
from regard.tables.encode.cells import ROW, as_label, read_numbers
from regard.tables.encode.column import infer_kind
from regard.tables.encode.columns import nearest
from regard.tables.encode.frames import errors_in

Task = Literal["auto", "classify", "regress"]
MAX_INTEGER_CLASSES = 10  # distinct integers that count as classes
MIN_ROWS_PER_CLASS = 5  # on average, for integers to count as classes
NEARLY_ALL = 0.9  # of the cells, for the others to be taken for errors


@dataclass(frozen=True)
class Problem:
    features: pd.DataFrame  # indexed by their row in the file
    target: pd.Series  # of the same rows, without missing values
    rows: np.ndarray  # their indices in the file, from 0
    dropped: int  # rows without a target
    classifies: bool
    reason: str  # why it is classification, or regression
    ignored: pd.DataFrame = field(default_factory=pd.DataFrame)  # columns of the same rows that are no features

    def without(self, column: str) -> "Problem":
        """With this feature among the ignored columns."""
        ignored = pd.concat([self.ignored, self.features[[column]]], axis=1)
        return replace(self, features=self.features.drop(columns=column), ignored=ignored)


def read_problem(
    path: Tables,
    target: str,
    task: Task = "auto",
    kinds: Mapping[str, str] | None = None,
    ignore: Sequence[str] = (),
    frame: pd.DataFrame | None = None,
) -> Problem:
    """The rows of a table with a target, without the ignored columns; `kinds` may also set the kind of the target.
    `frame` is the table, if it has been read."""
    frame = read_table(path) if frame is None else frame.copy(deep=False)
    for name in (target, *ignore):
        if name not in frame:
            raise ConfigError(f"{path}: has no column {name!r}; {nearest(name, list(frame))}")
    if target in ignore:
        raise ConfigError(f"--ignore {target}: is the target")
    features = frame.drop(columns=[target, *ignore])
    if features.shape[1] == 0:
        raise UserError(f"{path}: has no column but {target!r}, so there are no features")
    known = frame[target].notna().to_numpy()
    if not known.any():
        raise UserError(f"{path}: {target!r} is empty in every row")
    frame.index.name = features.index.name = ROW  # so that errors name the row in the file
    cells = frame.loc[known, target]
    kind = (kinds or {}).get(target)
    if kind not in (None, "number", "category"):
        raise ConfigError(f"--kind {target}={kind}: a target is a number or a category")
    with errors_in(path):
        classifies, reason = _infer_task(path, cells, task, kind)
    cells = _as_classes(cells) if classifies else _as_numbers(path, cells)
    if cells.nunique() == 1:
        raise UserError(f"{path}: {target!r} is {as_label(cells[0])!r} in every row, so there is nothing to predict")
    rows, dropped, ignored = np.flatnonzero(known), int((~known).sum()), frame.loc[known, list(dict.fromkeys(ignore))]
    return Problem(features[known], cells, rows, dropped, classifies, reason, ignored)


def read_known_rows(path: Path, targets: Sequence[str | None]) -> tuple[pd.DataFrame, Any, int]:
    """Features and targets of the rows of another file that have all targets, and how many have not.

    Both are indexed by the row in the file; one target is a series, several are a frame.
    """
    frame = read_table(path)
    for name in targets:
        if name is None:
            raise UserError("the target had no name in fit, so it cannot be found in a file; use add in Python")
        if name not in frame:
            raise UserError(f"{path}: has no column {name!r}, the target; {nearest(name, list(frame))}")
    frame.index.name = ROW  # so that errors name the row in the file
    known = frame[list(targets)].notna().all(axis=1)
    if not known.any():
        raise UserError(f"{path}: {' and '.join(map(repr, targets))}: no row has a target")
    chosen = targets[0] if len(targets) == 1 else list(targets)
    return frame[known].drop(columns=list(targets)), frame.loc[known, chosen], int((~known).sum())


def _infer_task(path: object, cells: pd.Series, task: Task, kind: str | None) -> tuple[bool, str]:
    """Whether it is classification, and why."""
    inferred = infer_kind(cells)
    distinct = cells.nunique()
    option = f"--task {task}" if task != "auto" else f"--kind {cells.name}={kind}" if kind is not None else ""
    if option:
        classifies = task == "classify" if task != "auto" else kind == "category"
        if classifies and inferred == "number" and not _are_integers(cells):
            raise ConfigError(
                f"{path}: {cells.name!r} has {distinct:,} distinct numbers, which are no classes; leave out {option}"
            )
        return classifies, option
    if inferred == "date":
        raise UserError(f"{path}: {cells.name!r} holds dates; convert them to days, or pass --task classify")
    if inferred in ("category", "text"):
        if len(cells) > 50 and distinct > 0.5 * len(cells):
            if reason := _nearly_numeric(cells):
                raise UserError(f"{path}: {cells.name!r}: {reason}; clear such cells to drop their rows")
            raise UserError(
                f"{path}: {cells.name!r} holds {distinct:,} distinct texts in {len(cells):,} rows, too many for "
                "classes; pass --task classify if they are"
            )
        return True, f"it has {distinct:,} distinct {'texts' if distinct > 2 else 'values'}"
    few = distinct <= MAX_INTEGER_CLASSES and len(cells) >= MIN_ROWS_PER_CLASS * distinct
    if few and _are_integers(cells):
        return True, f"it has only {distinct} distinct integers; pass --task regress if they are amounts"
    return False, f"it has {distinct:,} distinct numbers"


def _are_integers(cells: pd.Series) -> bool:
    """Whether all are whole numbers."""
    numbers = read_numbers(cells)
    return bool((numbers == numbers.round()).all())


def _nearly_numeric(cells: pd.Series) -> str:
    """A message if most cells are numbers, with one that is not; empty otherwise."""
    numeric = most_amounts(cells.map(str))
    if numeric.mean() < NEARLY_ALL:
        return ""
    wrong = cells[~numeric]
    where = f"row {wrong.index[0]} (counted from 0) holds {str(wrong.iloc[0])[:40]!r}"
    return f"{numeric.sum():,} of {len(cells):,} cells are numbers, but {where}"


def _as_classes(cells: pd.Series) -> pd.Series:
    """Classes as JSON stores them, of one type."""
    labels = [as_label(value) for value in cells]
    if len({type(value) for value in labels}) > 1:
        labels = [str(value) for value in labels]
    return pd.Series(np.array(labels, dtype=object), name=cells.name).infer_objects()


def _as_numbers(path: object, cells: pd.Series) -> pd.Series:
    try:
        return pd.Series(read_numbers(cells), name=cells.name)
    except ConfigError as error:
        if pd.api.types.is_numeric_dtype(cells.dtype):  # too large
            raise UserError(f"{path}: {error}") from None
        raise UserError(f"{path}: {cells.name!r} is not numeric ({error}); pass --task classify") from None
