"""Tables in a folder: MANIFEST.csv says which, one CSV file each; `target` is asked for, an empty cell is missing."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from regard.core.errors import UserError

Array = np.ndarray[Any, np.dtype[Any]]
MANIFEST = "MANIFEST.csv"
TARGET = "target"
CLASSIFICATION, REGRESSION = TASKS = ("classification", "regression")


@dataclass(frozen=True)
class Table:
    """Numbers are columns of numbers, everything else is a column of texts."""

    name: str
    task: str
    features: pd.DataFrame
    target: Array

    def __len__(self) -> int:
        return len(self.target)

    @property
    def texts(self) -> list[str]:
        return [name for name in self.features if not pd.api.types.is_numeric_dtype(self.features[name])]

    def unique(self) -> "Table":
        """Without rows that are the same as an earlier one in every column and the target."""
        new = ~self.features.assign(**{TARGET: self.target}).duplicated().to_numpy()
        return replace(self, features=self.features[new].reset_index(drop=True), target=self.target[new])


def read_manifest(folder: Path) -> dict[str, str]:
    """The task of each table, by its name."""
    path = folder / MANIFEST
    if not path.exists():
        raise UserError(f"{folder}: no {MANIFEST} here; --data is the folder that holds it beside the tables")
    manifest = pd.read_csv(path, dtype=str)
    tasks = dict(zip(manifest["name"], manifest["task"], strict=True))
    for name, task in tasks.items():
        if task not in TASKS:
            raise UserError(f"{path}: {name} has the task {task!r}; it is one of {', '.join(TASKS)}")
    return tasks


def read_table(folder: Path, name: str, task: str) -> Table:
    path = folder / f"{name}.csv"
    if not path.exists():
        raise UserError(f"{path}: no such file, though {MANIFEST} names it")
    cells = pd.read_csv(path, dtype=str, keep_default_na=False, na_values=[""])
    if TARGET not in cells:
        raise UserError(f"{path}: no column is called {TARGET!r}")
    cells = cells[cells[TARGET].notna()].reset_index(drop=True)
    target = cells.pop(TARGET)
    answers = target.to_numpy(dtype=float if task == REGRESSION else str)
    return Table(name, task, cells.apply(_numbers), answers)


def _numbers(column: "pd.Series[Any]") -> "pd.Series[Any]":
    """A column of numbers where every cell that is there is a number; else the texts as they are."""
    numbers = pd.to_numeric(column, errors="coerce")
    return numbers.astype(float) if (numbers.isna() == column.isna()).all() else column
