"""A table in a file with a target column, split into training and held-out rows."""

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from regard.core.errors import ConfigError, UserError
from regard.core.machine import seed_for
from regard.tables.encode.cells import read_categories, read_codes
from regard.tables.encode.columns import Columns
from regard.tables.encode.table import EncodedTable
from regard.tables.encode.text_scores import score_targets
from regard.tables.problem import Problem, read_problem

MIN_ROWS = 20  # with fewer, a validation loss would be noise


@dataclass(frozen=True, kw_only=True)
class TableFile:
    file: str
    target: str
    valid_share: float = 0.2  # fraction of rows held out, the same ones each time

    def __post_init__(self) -> None:
        if not 0 < self.valid_share < 1:
            raise ConfigError(f"valid_share: must be above 0 and below 1, not {self.valid_share}")

    def tables(self) -> tuple[EncodedTable, EncodedTable]:
        """Training and held-out rows."""
        return self.fit()[1:]

    def fit(self) -> tuple[Columns, EncodedTable, EncodedTable]:
        """The columns, the training and the held-out rows."""
        problem = read_problem(Path(self.file), self.target)
        rows = len(problem.target)
        if rows < MIN_ROWS:
            raise UserError(f"{self.file}: {rows} rows with a {self.target!r} are too few to train and validate")
        target, classes = _encode_target(problem)
        order = torch.randperm(rows, generator=torch.Generator().manual_seed(seed_for("held out", rows)))
        count = min(rows - 1, max(1, round(self.valid_share * rows)))
        held_out, known = order[:count], order[count:]
        columns, cells = Columns.fit_encode(problem.features, None, score_targets([(target, classes)], known))
        table = EncodedTable(torch.from_numpy(cells.values), torch.from_numpy(cells.category), target, classes)
        return columns, table.take(known), table.take(held_out)


def _encode_target(problem: Problem) -> tuple[Tensor, int]:
    if not problem.classifies:
        return torch.from_numpy(problem.target.to_numpy(dtype=float, copy=True)), 0
    classes = read_categories(problem.target)
    return torch.from_numpy(read_codes(problem.target, classes)), len(classes)
