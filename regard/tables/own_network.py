"""A network of the table's own: the Non-Parametric Transformer as in its paper (Kossen et al., 2021).

Features and targets are hidden at random and told from what is left, first mostly the features, in the end only the
target. All rows of the table, or many of them, are one input.
"""

import math
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from regard.core import tensors
from regard.core.machine import seed_for
from regard.models import NPT
from regard.models.npt import NPTModel
from regard.run import WEIGHTS, RunFolder
from regard.tables.views import Table
from regard.tasks import Batch
from regard.tasks.fill_cells import CellBatch, FillCells
from regard.train import AdamW, CoolDown, Loop, Training

AT_ONCE = 1024  # rows of a step
QUANTILES = 33
RANDOM = 0.1  # share of the hidden cells that show another row's cell instead of nothing
ANSWERED_AT_ONCE = 512


@dataclass(frozen=True)
class Masking:
    """Which cells are hidden while training; the ablations of the paper set one of them to 0, or the target's to 1."""

    features: float = 0.15
    target: float = 0.3


@dataclass(frozen=True)
class Prepared:
    """A table with its target as the last column: numbers standardised, categories by their codes."""

    cells: Float[Tensor, "row column"]  # NaN where missing or not known
    categories: tuple[int, ...]
    center: Float[Tensor, " column"]
    spread: Float[Tensor, " column"]

    @classmethod
    def learn(cls, table: Table, unlabelled: Tensor | None = None) -> "Prepared":
        values = table.values if unlabelled is None else torch.cat([table.values, unlabelled])
        target = torch.full((len(values),), torch.nan, dtype=table.target.dtype)
        target[: len(table.target)] = table.target
        cells = torch.cat([values.double(), target.double()[:, None]], 1)
        coded = zip(values.T, table.category, strict=True)
        counts = [int(column.nan_to_num(0).max()) + 2 if is_code else 0 for column, is_code in coded]
        categories = (*counts, table.classes)
        numbers = torch.tensor([count == 0 for count in categories])
        center = torch.where(numbers, cells.nanmean(0).nan_to_num(0), 0.0)
        spread = (cells - center).square().nanmean(0).sqrt().nan_to_num(0)
        spread = torch.where(numbers & (spread > 1e-9), spread, 1.0)
        return cls(((cells - center) / spread).float(), categories, center, spread)

    def show(self, values: Float[Tensor, "row column"]) -> Float[Tensor, "row column"]:
        """Other rows of the table, whose target is not known; categories that were never seen share a code."""
        asked = torch.full((len(values), 1), torch.nan)
        cells = ((torch.cat([values, asked], 1).double() - self.center) / self.spread).float()
        last = torch.tensor([max(count - 1, 0) for count in self.categories]).float()
        return torch.where(last > 0, cells.minimum(last), cells.clamp(-10, 10))


@dataclass(frozen=True)
class Maskings:
    """Batches of one table, each with other cells hidden; the share of the features falls from all to nothing."""

    table: Prepared
    masking: Masking
    steps: int
    seed: int
    fixed_shape = False
    steps_per_epoch = 1000

    def batch(self, step: int) -> CellBatch:
        chance = torch.Generator().manual_seed(seed_for("mask", self.seed, step))
        cells = self.table.cells[torch.randperm(len(self.table.cells), generator=chance)[:AT_ONCE]][None]
        known = ~cells.isnan()
        rate = torch.full((cells.shape[2],), self.masking.features)
        rate[-1] = self.masking.target
        asked = (torch.rand(cells.shape, generator=chance) < rate) & known
        swapped = (torch.rand(cells.shape, generator=chance) < RANDOM) & asked
        swapped[..., -1] = False
        truth = cells.nan_to_num(0.0)
        shown = torch.where(swapped, truth.roll(1, 1), truth)
        features = 0.5 * (1 + math.cos(math.pi * min(1.0, step / self.steps)))
        if not self.masking.features:
            features = 0.0
        return CellBatch(shown, (asked & ~swapped) | ~known, asked, truth, features)

    def once(self) -> Iterator[Batch]:
        yield self.batch(-1)


class OwnNetwork:
    """A trained network with its table, which answers other rows."""

    def __init__(self, model: NPTModel, table: Prepared):
        self.model, self.table = model.eval(), table

    @torch.inference_mode()
    def answer(self, values: Float[Tensor, "row column"]) -> Float[Tensor, "row answer"]:
        known = self.table.cells[: 2 * AT_ONCE]
        parts = []
        for part in values.split(ANSWERED_AT_ONCE):
            cells = torch.cat([known, self.table.show(part)])[None]
            valid = torch.arange(cells.shape[1])[None] < len(known)  # rows that are asked are seen by nobody
            told = self.model(cells.nan_to_num(0.0), cells.isnan(), valid)[-1][0, len(known) :]
            parts.append(told)
        told = torch.cat(parts)
        if self.table.categories[-1]:
            return told.softmax(-1)
        number = told.double() * self.table.spread[-1] + self.table.center[-1]
        return number.expand(-1, 1 + QUANTILES)


def own_network(
    table: Table, seed: int, seconds: float, masking: Masking = Masking(), unlabelled: Tensor | None = None
) -> OwnNetwork:
    """Train a network on this table alone for this long."""
    prepared = Prepared.learn(table, unlabelled)
    torch.manual_seed(seed_for("own", seed))
    model = NPT(categories=prepared.categories, width=64, layers=4, heads=4, dropout=0.1).build()
    steps = _steps_within(model, prepared, masking, seconds)
    training = Training(
        steps=steps,
        optimiser=AdamW(rate=1e-3, decay=0.0),
        schedule=CoolDown(warmup=10, hold=0.5),
        average=0.99,
        check_every=steps,
        save_minutes=60,
        seed=seed,
    )
    maskings = Maskings(prepared, masking, steps, seed)
    with tempfile.TemporaryDirectory() as place, RunFolder(Path(place) / "run").open() as folder:
        Loop(model, FillCells(), maskings, training, folder, speaks=False).run()
        model.load_state_dict(tensors.load(folder.path / WEIGHTS))
    return OwnNetwork(model, prepared)


def _steps_within(model: NPTModel, prepared: Prepared, masking: Masking, seconds: float) -> int:
    """How many steps there is time for, from the time of two: the share of the features follows from the last."""
    probe = Maskings(prepared, masking, 1, 0)
    began = 0.0
    for step in range(2):  # the first also warms up
        began = time.monotonic()
        FillCells().loss(model, probe.batch(step)).total.backward()
    model.zero_grad(set_to_none=True)
    return max(20, int(seconds / (1.15 * (time.monotonic() - began))))
