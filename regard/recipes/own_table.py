"""A Non-Parametric Transformer trained from scratch on one table, as a run like any other, for studies."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch

from regard.core.errors import ConfigError
from regard.models import NPT
from regard.recipes.plan import Plan
from regard.recipes.training import Prepared
from regard.tables.encode.table import EncodedTable
from regard.tables.file import TableFile
from regard.tables.network.masked_cells import CellBatch
from regard.tables.network.masking import MaskedBatches, Masking, StandardisedTable
from regard.tables.network.scratch import MAX_BATCH_CELLS, MIN_BATCH_ROWS
from regard.tasks import MaskedCells
from regard.train import WSD, AdamW, Training

MAX_EVALUATED = 300  # held-out rows that are predicted


def own_table(file: str, target: str) -> Plan:
    return Plan(
        data=TableFile(file=file, target=target),
        task=MaskedCells(),
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
        raise ConfigError(f"model: {type(plan.model).__name__} has no attention between rows; choose NPT")
    known, held_out = plan.data.tables()
    table = StandardisedTable.fit(known)
    rows, columns = table.cells.shape
    batch_rows = min(rows, plan.training.batch_size, max(MIN_BATCH_ROWS, MAX_BATCH_CELLS // columns))
    held_out_rows = torch.zeros(rows, dtype=torch.bool)
    steps = plan.training.steps or 1000
    return Prepared(
        plan=replace(plan, model=replace(plan.model, categories=table.categories)),
        train=MaskedBatches(table, Masking(), steps, plan.training.seed, held_out_rows, batch_rows),
        valid=OneBatch(validation_batch(table, held_out, 2 * batch_rows)),
        tokenizer=None,
        score=lambda run, loss: {"loss": loss},
    )


def validation_batch(table: StandardisedTable, held_out: EncodedTable, most: int) -> CellBatch:
    """Held-out rows beside training rows; only their targets are masked and predicted."""
    context = table.cells[:most]
    queries = table.encode_queries(held_out.values[:MAX_EVALUATED])
    target = (held_out.target[:MAX_EVALUATED].double() - table.mean[-1]) / table.std[-1]
    cells = torch.cat([context, queries])[None]
    predicted = torch.zeros_like(cells, dtype=torch.bool)
    predicted[:, len(context) :, -1] = True
    truth = cells.nan_to_num(0.0)
    truth[:, len(context) :, -1] = target.float()
    return CellBatch(cells.nan_to_num(0.0), cells.isnan(), predicted, truth, features=0.0)


@dataclass(frozen=True)
class OneBatch:
    """A single batch, for validation."""

    rows: CellBatch
    fixed_shape = True
    steps_per_epoch = 1

    def batch(self, step: int) -> CellBatch:
        return self.rows

    def once(self) -> Iterator[CellBatch]:
        yield self.rows
