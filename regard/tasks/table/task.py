"""Masked cells of one table: a Non-Parametric Transformer trained from scratch as a run like any other, for studies.

`regard fit --mode scratch` trains the same network with a time limit, and keeps the rows in its folder.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import nn

from regard.core.batches import Loss
from regard.core.errors import ConfigError, UserError
from regard.models import NPT, Model
from regard.tables.encode.table import EncodedTable
from regard.tables.file import TableFile
from regard.tables.network.masked_cells import CellBatch, masked_cells_loss
from regard.tables.network.masking import MaskedBatches, Masking, StandardisedTable
from regard.tasks.base import EvalOptions, Prepared, Run, Settings, Task, Workspace
from regard.tasks.table.answers import evaluate_rows, predict_rows, rows_of_a_step

MAX_EVALUATED = 300  # validation rows that are predicted


@dataclass(frozen=True)
class MaskedCells(Task):
    data: ClassVar[tuple[type, ...]] = (TableFile,)
    unit: ClassVar[str] = "cells"
    verb: ClassVar[str] = "table"
    next_command: ClassVar[str] = "regard study heads {} --out studies/heads"
    named: ClassVar[tuple[str, ...]] = ("predict",)

    def loss(self, model: nn.Module, batch: CellBatch) -> Loss:
        return masked_cells_loss(model, batch)

    def loss_unit(self, model: Model) -> str:
        """The last column is the target: categories, or numbers."""
        return "nats per cell" if getattr(model, "categories", (0,))[-1] else "mean squared error (standardised target)"

    @contextmanager
    def prepare(self, plan: Settings, workspace: Workspace) -> Iterator[Prepared]:
        data, training = plan.data, plan.training
        if not isinstance(data, TableFile) or not isinstance(plan.model, NPT):
            raise ConfigError(f"model: {type(plan.model).__name__} has no attention between rows; choose NPT")
        known, valid_rows = data.tables()
        table = StandardisedTable.fit(known)
        rows = rows_of_a_step(table, training.batch_size)
        never = torch.zeros(len(table.cells), dtype=torch.bool)
        yield Prepared(
            task=self,
            model=replace(plan.model, categories=table.categories),
            train=MaskedBatches(table, Masking(), training.steps or 1000, training.seed, never, rows),
            valid=OneBatch(validation_batch(table, valid_rows, 2 * rows)),
            tokenizer=None,
            score=lambda run, loss: {"loss": loss},
        )

    def answer(self, run: Run, inputs: Any, **options: Any) -> Any:
        return self.predict(run, inputs, **options)

    def predict(self, run: Run, rows: Any) -> Any:
        """The target of each row of a data frame."""
        return predict_rows(run, rows)

    def evaluate(self, run: Run, files: Sequence[str], options: EvalOptions) -> dict[str, Any]:
        if len(files) != 1:
            raise UserError(f"{run.path}: holds a table, which is evaluated on one file, not {len(files)}")
        return evaluate_rows(run, files[0])


def validation_batch(table: StandardisedTable, valid_rows: EncodedTable, most: int) -> CellBatch:
    """Validation rows beside training rows: only their targets are hidden, and only these are predicted."""
    known = table.cells[:most]
    query = table.encode_queries(valid_rows.values[:MAX_EVALUATED])
    truth = (valid_rows.target[:MAX_EVALUATED].double() - table.mean[-1]) / table.std[-1]
    cells = torch.cat([known, query])[None]
    predicted = torch.zeros_like(cells, dtype=torch.bool)
    predicted[:, len(known) :, -1] = True
    answers = cells.nan_to_num(0.0)
    answers[:, len(known) :, -1] = truth.float()
    return CellBatch(cells.nan_to_num(0.0), cells.isnan(), predicted, answers, features=0.0)


@dataclass(frozen=True)
class OneBatch:
    """Validation data that is a single batch."""

    rows: CellBatch
    fixed_shape = True
    steps_per_epoch = 1

    def batch(self, step: int) -> CellBatch:
        return self.rows

    def once(self) -> Iterator[CellBatch]:
        yield self.rows
