"""A table in a file with a column to be told: some rows to learn from, and others to measure by."""

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from regard.core.errors import ConfigError, UserError
from regard.core.machine import seed_for
from regard.tables.cells import read_categories, read_codes
from regard.tables.columns import Columns
from regard.tables.problem import Problem, pose
from regard.tables.views import Table

FEWEST = 20  # rows: of fewer, what is measured would be chance


@dataclass(frozen=True, kw_only=True)
class TableFile:
    file: str
    target: str
    valid_share: float = 0.2  # rows drawn apart, the same ones each time

    def __post_init__(self) -> None:
        if not 0 < self.valid_share < 1:
            raise ConfigError(f"valid_share: must be above 0 and below 1, not {self.valid_share}")

    def tables(self) -> tuple[Table, Table]:
        """Rows to learn from and rows held out."""
        problem = pose(Path(self.file), self.target)
        rows = len(problem.target)
        if rows < FEWEST:
            raise UserError(f"{self.file}: {rows} rows with a {self.target!r} are too few to learn and to measure by")
        cells = Columns.learn(problem.features).encode(problem.features)
        target, classes = _numbers(problem)
        whole = Table(torch.from_numpy(cells.values), torch.from_numpy(cells.category), target, classes)
        order = torch.randperm(rows, generator=torch.Generator().manual_seed(seed_for("held out", rows)))
        apart = min(rows - 1, max(1, round(self.valid_share * rows)))
        return whole.rows(order[apart:]), whole.rows(order[:apart])


def _numbers(problem: Problem) -> tuple[Tensor, int]:
    if not problem.classifies:
        return torch.from_numpy(problem.target.to_numpy(dtype=float, copy=True)), 0
    classes = read_categories(problem.target)
    return torch.from_numpy(read_codes(problem.target, classes)), len(classes)
