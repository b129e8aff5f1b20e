"""A network of the table's own: the Non-Parametric Transformer as in its paper (Kossen et al., 2021).

Features and targets are hidden at random and told from what is left, first mostly the features, in the end only the
target. All rows of the table, or many of them, are one input.

The network tells one number, and no quantiles. Those come from what it got wrong: the targets of a tenth of the rows
are shown to others while it trains but never asked for; in the end they are hidden and told, and the quantiles of the
errors are added to every answer. So all rows have an interval of one width, and it is that of rows never learned from.
"""

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from regard.core.machine import seed_for
from regard.models import NPT
from regard.models.npt import NPTModel
from regard.tables.train_here import train_here
from regard.tables.views import Table
from regard.tasks import Batch
from regard.tasks.fill_cells import CellBatch, FillCells
from regard.tasks.read_table import quantile_levels
from regard.train import AdamW, CoolDown, Training

MOST_ROWS, CELLS = 1024, 24_000  # of a step
SHOWN = 2  # times as many are shown when rows are answered
QUANTILES = 33
RANDOM = 0.1  # share of the hidden cells that show another row's cell instead of nothing
ANSWERED_AT_ONCE = 512
SPARED = 0.1  # share of the rows whose targets are never asked for
FEWEST_TO_SPARE = 40  # rows
MOST_SPARED = 1000
FAR = 10.0  # deviations: beyond, a cell is no farther


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
        spread = torch.where(numbers & (spread > 1e-9 * center.abs()), spread, 1.0)
        cells = (cells - center) / spread
        cells[:, :-1] = torch.where(numbers[:-1], cells[:, :-1].clamp(-FAR, FAR), cells[:, :-1])
        return cls(cells.float(), categories, center, spread)

    def show(self, values: Float[Tensor, "row feature"]) -> Float[Tensor, "row column"]:
        """Other rows of the table, whose target is not known; categories that were never seen share a code."""
        asked = torch.full((len(values), 1), torch.nan)
        cells = ((torch.cat([values, asked], 1).double() - self.center) / self.spread).float()
        last = torch.tensor([max(count - 1, 0) for count in self.categories]).float()
        return torch.where(last > 0, cells.minimum(last), cells.clamp(-FAR, FAR))

    def some(self, most: int, chance: torch.Generator) -> Tensor:
        """The numbers of rows drawn at random, as many as are read at once."""
        rows, columns = self.cells.shape
        return torch.randperm(rows, generator=chance)[: min(most, max(64, most * CELLS // (MOST_ROWS * columns)))]


@dataclass(frozen=True)
class Maskings:
    """Batches of one table, each with other cells hidden; the share of the features falls from all to nothing."""

    table: Prepared
    masking: Masking
    steps: int
    seed: int
    spared: Bool[Tensor, " row"]  # rows whose target is never asked for
    fixed_shape = False
    steps_per_epoch = 1000

    def batch(self, step: int) -> CellBatch:
        chance = torch.Generator().manual_seed(seed_for("mask", self.seed, step))
        rows = self.table.some(MOST_ROWS, chance)
        cells = self.table.cells[rows][None]
        known = ~cells.isnan()
        rate = torch.full((cells.shape[2],), self.masking.features)
        rate[-1] = self.masking.target
        asked = (torch.rand(cells.shape, generator=chance) < rate) & known
        asked[..., -1] &= ~self.spared[rows]
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

    def __init__(self, model: NPTModel, table: Prepared, errors: Float[Tensor, " quantile"]):
        self.model, self.table = model.eval(), table
        self.errors = errors  # quantiles of the truth less the answer; none where there are classes
        chance = torch.Generator().manual_seed(len(table.cells))
        self._shown = table.some(SHOWN * MOST_ROWS, chance)  # in no order that the table may have

    def answer(self, values: Float[Tensor, "row column"]) -> Float[Tensor, "row answer"]:
        told = self.tell(self.table.show(values))
        if self.table.categories[-1]:
            return told.softmax(-1)
        number = told.double() * self.table.spread[-1] + self.table.center[-1]
        return torch.cat([number, number + self.errors], 1)

    @torch.inference_mode()
    def tell(self, asked: Float[Tensor, "row column"]) -> Float[Tensor, "row answer"]:
        """What the network says of the targets of rows that see the known ones, and are seen by nobody."""
        known, parts = self.table.cells[self._shown], []
        for part in asked.split(max(1, ANSWERED_AT_ONCE * len(known) // (SHOWN * MOST_ROWS) + 1)):
            cells = torch.cat([known, part])[None]
            valid = torch.arange(cells.shape[1])[None] < len(known)
            parts.append(self.model(cells.nan_to_num(0.0), cells.isnan(), valid)[-1][0, len(known) :])
        return torch.cat(parts)


def own_network(
    table: Table, seed: int, seconds: float, masking: Masking = Masking(), unlabelled: Tensor | None = None
) -> OwnNetwork:
    """Train a network on this table alone for this long."""
    began = time.monotonic()
    prepared = Prepared.learn(table, unlabelled)
    spared = _spared(table, len(prepared.cells), seed)
    torch.manual_seed(seed_for("own", seed))
    model = NPT(categories=prepared.categories, width=64, layers=4, heads=4, dropout=0.1).build()
    steps = _steps_within(model, Maskings(prepared, masking, 1, 0, spared), seconds)
    training = Training(
        steps=steps,
        minutes=max(1e-6, seconds - (time.monotonic() - began)) / 60,
        optimiser=AdamW(rate=1e-3, decay=0.0),
        schedule=CoolDown(warmup=10, hold=0.5),
        average=0.99,
        check_every=steps,
        save_minutes=60,
        seed=seed,
    )
    train_here(model, FillCells(), Maskings(prepared, masking, steps, seed, spared), training)
    return OwnNetwork(model, prepared, _errors(model, prepared, table, spared))


def _steps_within(model: NPTModel, probe: Maskings, seconds: float) -> int:
    """How many steps there is time for, from the time of one or two: shares of the loss follow from the last."""
    began = time.monotonic()
    for step in range(2):  # the first also warms up
        started = time.monotonic()
        FillCells().loss(model, probe.batch(step)).total.backward()
        took = time.monotonic() - started
        if took > 0.1 * seconds:
            break
    model.zero_grad(set_to_none=True)
    return max(1, int((seconds - (time.monotonic() - began)) / (1.15 * took)))


def _spared(table: Table, rows: int, seed: int) -> Bool[Tensor, " row"]:
    """Rows whose targets will tell how wrong the network is: some of the numbers, where there are enough."""
    spared = torch.zeros(rows, dtype=torch.bool)
    labelled = len(table.target)
    if not table.classes and labelled >= FEWEST_TO_SPARE:
        order = torch.randperm(labelled, generator=torch.Generator().manual_seed(seed_for("spared", seed)))
        spared[order[: min(MOST_SPARED, round(SPARED * labelled))]] = True
    return spared


def _errors(
    model: NPTModel, prepared: Prepared, table: Table, spared: Bool[Tensor, " row"]
) -> Float[Tensor, " quantile"]:
    """Quantiles of what the network got wrong; of a table too small to spare rows, how far its targets are apart."""
    if table.classes:
        return torch.empty(0)
    errors = table.target - table.target.mean()
    if spared.any():
        others = OwnNetwork(model, replace(prepared, cells=prepared.cells[~spared]), torch.empty(0))
        asked = prepared.cells[spared]
        truth, asked[:, -1] = asked[:, -1].clone(), torch.nan
        errors = (truth - others.tell(asked)[:, 0]).double() * prepared.spread[-1]
    levels = quantile_levels(QUANTILES).double().numpy()
    # Weibull's places: of few errors the outer quantiles are the outermost errors, not something between two of them.
    return torch.from_numpy(np.quantile(errors.double().numpy(), levels, method="weibull"))
