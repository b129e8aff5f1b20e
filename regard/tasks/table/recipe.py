"""A Non-Parametric Transformer of one table's own, as a run like any other, to be taken apart by a study."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch

from regard.core.errors import ConfigError
from regard.models import NPT
from regard.recipes.plan import Plan
from regard.recipes.training import Prepared
from regard.tables.file import TableFile
from regard.tables.own_network import FEWEST_ROWS, MOST_CELLS, Masking, Maskings
from regard.tables.own_network import Prepared as Standardised
from regard.tables.views import Table
from regard.tasks import FillCells
from regard.tasks.fill_cells import CellBatch
from regard.train import WSD, AdamW, Training

MOST_MEASURED = 300  # rows held out that are told


def own_table(file: str, target: str) -> Plan:
    return Plan(
        data=TableFile(file=file, target=target),
        task=FillCells(),
        model=NPT(categories=(0,), width=64, layers=4, heads=4, dropout=0.1),  # the columns are counted from the data
        training=Training(
            batch_size=256,  # rows of the table that one step sees
            steps=500,
            optimiser=AdamW(lr=1e-3, weight_decay=0.0),
            schedule=WSD(warmup=10, stable=0.5),
        ),
    )


def prepare(plan: Plan) -> Prepared:
    if not isinstance(plan.data, TableFile) or not isinstance(plan.model, NPT):
        raise ConfigError(f"model: {type(plan.model).__name__} does not look between rows of a table; choose NPT")
    known, held_out = plan.data.tables()
    table = Standardised.learn(known)
    rows, columns = table.cells.shape
    at_once = min(rows, plan.training.batch_size, max(FEWEST_ROWS, MOST_CELLS // columns))
    spared = torch.zeros(rows, dtype=torch.bool)
    steps = plan.training.steps or 1000
    return Prepared(
        plan=replace(plan, model=replace(plan.model, categories=table.categories)),
        train=Maskings(table, Masking(), steps, plan.training.seed, spared, at_once),
        valid=HeldOut(told_by(table, held_out, 2 * at_once)),
        tokenizer=None,
        score=lambda run, loss: {"loss": loss},
    )


def told_by(table: Standardised, held_out: Table, most: int) -> CellBatch:
    """Rows held out beside known ones: only their targets are hidden, and only these are asked for."""
    known = table.cells[:most]
    asked = table.show(held_out.values[:MOST_MEASURED])
    truth = (held_out.target[:MOST_MEASURED].double() - table.center[-1]) / table.spread[-1]
    cells = torch.cat([known, asked])[None]
    to_tell = torch.zeros_like(cells, dtype=torch.bool)
    to_tell[:, len(known) :, -1] = True
    answers = cells.nan_to_num(0.0)
    answers[:, len(known) :, -1] = truth.float()
    return CellBatch(cells.nan_to_num(0.0), cells.isnan(), to_tell, answers, features=0.0)


@dataclass(frozen=True)
class HeldOut:
    """One batch, to measure by."""

    rows: CellBatch
    fixed_shape = True
    steps_per_epoch = 1

    def batch(self, step: int) -> CellBatch:
        return self.rows

    def once(self) -> Iterator[CellBatch]:
        yield self.rows
