"""Fine-tuning on one table: random splits of its rows into context and query rows, in every step a new one.

That is the stochastic masking of targets of the NPT, starting from pre-trained weights. The rows to be predicted later
play no part in it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from regard.closed_form import Copies
from regard.core.batches import Batch
from regard.core.machine import seed_for
from regard.data.tables.batch import TableBatch, TableGroups
from regard.models.in_context import COLUMN_CODE, InContextModel
from regard.tables.encode.table import EncodedTable, join
from regard.tables.encode.target import TargetTransform
from regard.tables.ensemble import MAX_COLUMNS, draw_member
from regard.tables.network.in_context_loss import InContextObjective
from regard.tables.network.training import train_in_memory
from regard.train import AdamW, Cosine, Training

CELLS_PER_STEP = 12_000
MAX_STEPS = 120  # small tables do not improve beyond


@dataclass(frozen=True)
class RandomSplits:
    """Batches of one table, each with other rows as context and as queries."""

    table: EncodedTable
    seed: int
    held_out: EncodedTable | None = None  # query rows of `once`, with as much context as one pass takes
    fixed_shape = False
    steps_per_epoch = 100

    def batch(self, step: int) -> TableGroups:
        generator = torch.Generator().manual_seed(seed_for("split", self.seed, step))
        count, columns = self.table.values.shape
        most = max(32, CELLS_PER_STEP // (min(columns, MAX_COLUMNS) + 4))
        rows = torch.randperm(count, generator=generator)[:most]
        share = 0.5 + 0.4 * torch.rand((), generator=generator).item()
        context = min(len(rows) - 1, max(1, int(len(rows) * share)))
        if self.table.source is not None:
            rows, context = _keep_copies_together(rows, context, self.table.source)
        return TableGroups([_as_batch(self.table.take(rows), context, generator)])

    def once(self) -> Iterator[Batch]:
        assert self.held_out is not None
        generator = torch.Generator().manual_seed(seed_for("held out", self.seed))
        context = self.table.take(draw_member(self.table, 0, self.seed).context_rows)
        yield TableGroups([_as_batch(join([context, self.held_out]), len(context.target), generator)])


def _keep_copies_together(rows: Tensor, context: int, source: Tensor) -> tuple[Tensor, int]:
    """The rows with copies beside each other, and about as many context rows, so that no query row has a copy there."""
    copies = Copies.of(source[rows])
    if copies is None:
        return rows, context
    order = copies.first[copies.group].argsort(stable=True)  # by where the first copy was drawn
    group = copies.group[order]
    starts = (group[1:] != group[:-1]).nonzero()[:, 0] + 1
    if len(starts):
        context = int(starts[(starts - context).abs().argmin()])
    return rows[order], context


def _as_batch(table: EncodedTable, context: int, generator: Generator) -> TableBatch:
    """The first rows as context, the others as queries, with columns and classes permuted."""
    columns = torch.randperm(table.values.shape[1], generator=generator)[:MAX_COLUMNS]
    column_codes = torch.randn(1, len(columns), COLUMN_CODE, generator=generator)
    return TableBatch(
        values=table.values[None, :, columns],
        category=table.category[None, columns],
        target=_encode_target(table, context, generator)[None],
        context=context,
        classes=table.classes,
        column_codes=column_codes,
        source=None if table.source is None else table.source[:context],
    )


def _encode_target(table: EncodedTable, context: int, generator: Generator) -> Tensor:
    """Standardised by the context rows, or permuted classes; NaN for a class that no context row has."""
    if not table.classes:
        return TargetTransform.standardise(table.target[:context]).forward(table.target).float()
    order = torch.randperm(table.classes, generator=generator)
    seen = torch.zeros(table.classes).scatter_(0, table.target[:context].long(), 1.0)
    label = order[table.target.long()].float()
    return label.where(seen[table.target.long()] > 0, torch.nan)


def finetune(
    model: InContextModel, table: EncodedTable, held_out: EncodedTable, seconds: float, seed: int
) -> InContextModel:
    """A copy of the model trained on the table for so long, with the weights that were best on the held-out rows."""
    copy = model.config.build()
    copy.load_state_dict(model.state_dict())
    training = Training(
        minutes=seconds / 60,
        steps=MAX_STEPS,
        optimiser=AdamW(lr=1.5e-3, weight_decay=0.01),
        schedule=Cosine(warmup=5),
        ema=0.9,
        eval_every=8,
        checkpoint_minutes=60,
        seed=seed,
    )
    splits = RandomSplits(table, seed, held_out)
    train_in_memory(copy, InContextObjective(), splits, training, splits)
    return copy
