"""A table and what is asked of it: which column is the target, and whether that names classes or is a number."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from regard.core.errors import ConfigError, UserError
from regard.data.tables.files import read_table
from regard.tables.cells import ROW, label, read_numbers
from regard.tables.column import Column
from regard.tables.columns import nearest
from regard.tables.frames import named

Task = Literal["auto", "classify", "regress"]
FEW = 10  # different whole numbers that count as classes
NEARLY_ALL = 0.9  # of the cells, for the others to be mistakes
ROWS_OF_EACH = 5  # and how many rows each then has, on average


@dataclass(frozen=True)
class Problem:
    features: pd.DataFrame  # under the numbers of their rows in the file
    target: pd.Series  # of the same rows, each of them known
    rows: np.ndarray  # their numbers in the file, from 0
    left_out: int  # rows without a target
    classifies: bool
    why: str  # classes, or numbers


def pose(
    path: Path,
    target: str,
    task: Task = "auto",
    kinds: Mapping[str, str] | None = None,
    ignore: Sequence[str] = (),
) -> Problem:
    """The rows of a file whose target is known, without the columns to ignore; `kinds` may say of the target too what
    it is."""
    frame = read_table(path)
    for name in (target, *ignore):
        if name not in frame:
            raise ConfigError(f"{path}: has no column {name!r}; {nearest(name, list(frame))}")
    if target in ignore:
        raise ConfigError(f"--ignore {target}: is the column to predict")
    features = frame.drop(columns=[target, *ignore])
    if features.shape[1] == 0:
        raise UserError(f"{path}: has no column but {target!r}, so there is nothing to tell it from")
    there = frame[target].notna().to_numpy()
    if not there.any():
        raise UserError(f"{path}: {target!r} is empty in every row, so there is nothing to learn")
    frame.index.name = features.index.name = ROW  # so that a wrong cell is named by its row in the file
    cells = frame.loc[there, target]
    kind = (kinds or {}).get(target)
    if kind not in (None, "number", "category"):
        raise ConfigError(f"--kind {target}={kind}: a target is a number or a category")
    with named(path):
        classifies, why = _task(path, cells, task, kind)
    cells = _labels(cells) if classifies else _numbers(path, cells)
    if cells.nunique() == 1:
        raise UserError(f"{path}: {target!r} is {label(cells[0])!r} in every row, so there is nothing to tell apart")
    return Problem(features[there], cells, np.flatnonzero(there), int((~there).sum()), classifies, why)


def _task(path: Path, cells: pd.Series, task: Task, kind: str | None) -> tuple[bool, str]:
    """Whether the target names classes, and why."""
    if task != "auto":
        return task == "classify", f"--task {task} says so"
    if kind is not None:
        return kind == "category", f"--kind {cells.name}={kind} says so"
    found = Column.learn(cells).kind
    distinct = cells.nunique()
    if found == "date":
        raise UserError(f"{path}: {cells.name!r} holds dates; turn them into days, or say --task classify")
    if found == "category":
        if len(cells) > 50 and distinct > 0.5 * len(cells):
            if told := _nearly_numbers(cells):
                raise UserError(f"{path}: {cells.name!r}: {told}; empty such cells, and their rows are left out")
            raise UserError(
                f"{path}: {cells.name!r} holds {distinct:,} different texts in {len(cells):,} rows, which are no "
                "classes; say --task classify if they are"
            )
        return True, f"it holds {distinct:,} different {'texts' if distinct > 2 else 'values'}"
    numbers = cells.to_numpy(dtype=np.float64)
    if distinct <= FEW and len(cells) >= ROWS_OF_EACH * distinct and (numbers == numbers.round()).all():
        return True, f"it holds only {distinct} different whole numbers; --task regress if they are amounts"
    return False, f"it holds {distinct:,} different numbers"


def _nearly_numbers(cells: pd.Series) -> str:
    """That most cells are numbers, and one that is not; nothing where it is otherwise."""
    numbers = pd.to_numeric(cells.map(str), errors="coerce").notna()
    if numbers.mean() < NEARLY_ALL:
        return ""
    wrong = cells[~numbers]
    where = f"row {wrong.index[0]} (counted from 0) holds {str(wrong.iloc[0])[:40]!r}"
    return f"{numbers.sum():,} of {len(cells):,} cells are numbers, but {where}"


def _labels(cells: pd.Series) -> pd.Series:
    """Classes as JSON keeps them, of one kind."""
    labels = [label(value) for value in cells]
    if len({type(value) for value in labels}) > 1:
        labels = [str(value) for value in labels]
    return pd.Series(np.array(labels, dtype=object), name=cells.name).infer_objects()


def _numbers(path: Path, cells: pd.Series) -> pd.Series:
    try:
        return pd.Series(read_numbers(cells), name=cells.name)
    except ConfigError as error:
        if pd.api.types.is_numeric_dtype(cells.dtype):  # too large
            raise UserError(f"{path}: {error}") from None
        raise UserError(f"{path}: {cells.name!r} is no column of numbers ({error}); say --task classify") from None
