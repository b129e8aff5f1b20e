"""Go on training on one table: some of its rows are shown, the others asked, in ever new splits.

That is the stochastic masking of targets of the Non-Parametric Transformer, for a network that begins with weights
from many tables. The rows that will be predicted have no part in it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from regard.core.batches import Batch
from regard.core.machine import seed_for
from regard.data.tables.batch import TableBatch, TableGroups
from regard.models.in_context import COLUMN_CODE, InContextModel
from regard.tables.network.in_context_loss import InContextObjective
from regard.tables.target import Scale
from regard.tables.train_here import train_here
from regard.tables.views import MOST_COLUMNS, Table, draw_view
from regard.train import AdamW, Cosine, Training

CELLS = 12_000  # of a step
STEPS = 120  # at most: small tables have taught what they can by then


@dataclass(frozen=True)
class Splits:
    """Batches of one table, each with other rows shown and asked."""

    table: Table
    seed: int
    held_out: Table | None = None  # rows that `once` asks, with all of the table shown that is read at once
    fixed_shape = False
    steps_per_epoch = 100

    def batch(self, step: int) -> TableGroups:
        chance = torch.Generator().manual_seed(seed_for("split", self.seed, step))
        count, columns = self.table.values.shape
        rows = torch.randperm(count, generator=chance)[: max(32, CELLS // (min(columns, MOST_COLUMNS) + 4))]
        share = 0.5 + 0.4 * torch.rand((), generator=chance).item()
        known = min(len(rows) - 1, max(1, int(len(rows) * share)))
        return TableGroups([_split(self.table.rows(rows), known, chance)])

    def once(self) -> Iterator[Batch]:
        assert self.held_out is not None
        chance = torch.Generator().manual_seed(seed_for("held out", self.seed))
        shown = self.table.rows(draw_view(self.table, 0, self.seed).rows)
        values = torch.cat([shown.values, self.held_out.values])
        target = torch.cat([shown.target, self.held_out.target])
        whole = Table(values, shown.category, target, shown.classes)
        yield TableGroups([_split(whole, len(shown.target), chance)])


def _split(table: Table, known: int, chance: Generator) -> TableBatch:
    """The first rows shown, the others asked; columns and classes in a new order."""
    columns = torch.randperm(table.values.shape[1], generator=chance)[:MOST_COLUMNS]
    codes = torch.randn(1, len(columns), COLUMN_CODE, generator=chance)
    target = _show(table, known, chance)
    return TableBatch(
        table.values[None, :, columns], table.category[None, columns], target[None], known, table.classes, codes
    )


def _show(table: Table, known: int, chance: Generator) -> Tensor:
    if not table.classes:
        return Scale.straight(table.target[:known]).show(table.target).float()
    order = torch.randperm(table.classes, generator=chance)
    seen = torch.zeros(table.classes).scatter_(0, table.target[:known].long(), 1.0)
    label = order[table.target.long()].float()
    return label.where(seen[table.target.long()] > 0, torch.nan)


def tune(model: InContextModel, table: Table, held_out: Table, seconds: float, seed: int) -> InContextModel:
    """A copy of the model trained on the table for this long; its weights are those that the held-out rows liked."""
    own = model.config.build()
    own.load_state_dict(model.state_dict())
    training = Training(
        minutes=seconds / 60,
        steps=STEPS,
        optimiser=AdamW(lr=1.5e-3, weight_decay=0.01),
        schedule=Cosine(warmup=5),
        ema=0.9,
        eval_every=8,
        checkpoint_minutes=60,
        seed=seed,
    )
    splits = Splits(table, seed, held_out)
    train_here(own, InContextObjective(), splits, training, splits)
    return own
