"""A network of the table's own: the Non-Parametric Transformer as in its paper (Kossen et al., 2021).

Features and targets are hidden at random and told from what is left, first mostly the features, in the end only the
target. All rows of the table, or many of them, are one input.

The network tells one number, and no quantiles. Those come from what it got wrong: the targets of a tenth of the rows
are shown to others while it trains but never asked for; in the end they are hidden and told, and the quantiles of the
errors are added to every answer. So all rows have an interval of one width, and it is that of rows never learned from.
"""

import math
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from sklearn.exceptions import ConvergenceWarning
from torch import Tensor

from regard.core.batches import Batch
from regard.core.machine import seed_for
from regard.models import NPT
from regard.models.npt import Between, NPTModel
from regard.parts.cache import KVCache
from regard.parts.taps import listen
from regard.tables.network.in_context_loss import quantile_levels
from regard.tables.network.masked_cells import CellBatch, MaskedCellsObjective
from regard.tables.train_here import train_here
from regard.tables.views import Table
from regard.train import WSD, AdamW, Training

FEWEST_ROWS, MOST_ROWS, MOST_CELLS = 64, 1024, 24_000  # of a step
STEPS = 100  # that there shall be time for, with fewer rows in each where needed
FEWEST_STEPS = 30  # of fewer, answers are worse than the mean of all
SHOWN = 2  # times as many rows are shown when others are answered
QUANTILES = 33
RANDOM = 0.1  # share of the hidden cells that show another row's cell instead of nothing
ANSWERED_AT_ONCE = 24_000  # cells
SPARED = 0.1  # share of the rows whose targets are never asked for
FEWEST_TO_SPARE = 40  # rows
MOST_SPARED = 300
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


@dataclass(frozen=True)
class Maskings:
    """Batches of one table, each with other cells hidden; the share of the features falls from all to nothing."""

    table: Prepared
    masking: Masking
    steps: int
    seed: int
    spared: Bool[Tensor, " row"]  # rows whose target is never asked for
    at_once: int  # rows of a step
    fixed_shape = False
    steps_per_epoch = 1000

    def batch(self, step: int) -> CellBatch:
        chance = torch.Generator().manual_seed(seed_for("mask", self.seed, step))
        rows = torch.randperm(len(self.table.cells), generator=chance)[: self.at_once]
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

    def __init__(
        self,
        model: NPTModel,
        table: Prepared,
        shown: Int[Tensor, " shown"],
        errors: Float[Tensor, " quantile"],
    ):
        self.model, self.table = model.eval(), table
        self.shown = shown  # numbers of the rows that others are told by
        self.errors = errors  # quantiles of the truth less the answer; none where there are classes
        self._kept: Sequence[KVCache] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """What was read can be read again."""
        return {**self.__dict__, "_kept": None}

    def answer(self, values: Float[Tensor, "row column"]) -> Float[Tensor, "row answer"]:
        told = self.tell(self.table.show(values))
        if self.table.categories[-1]:
            return told.softmax(-1)
        number = told.double() * self.table.spread[-1] + self.table.center[-1]
        return torch.cat([number, number + self.errors], 1)

    @torch.inference_mode()
    def looks(self, values: Float[Tensor, "row column"]) -> Float[Tensor, "row known"]:
        """How much each known row is looked at when these rows are answered: the mean of all layers and heads."""
        with listen(self.model) as heard:
            self.tell(self.table.show(values))
        patterns = [heard.whole(name) for name in heard if name.startswith("rows.")]
        looks = torch.zeros(len(values), len(self.table.cells))
        looks[:, self.shown] = torch.stack(patterns).mean((0, 2))[0]
        return looks

    @torch.inference_mode()
    def tell(self, asked: Float[Tensor, "row column"]) -> Float[Tensor, "row answer"]:
        """What the network says of the targets of rows that see the known ones, and are seen by nobody."""
        if self._kept is None:
            known = self.table.cells[self.shown][None]
            self._kept = self.model.encode_context(known.nan_to_num(0.0), known.isnan())
        parts = asked.split(max(1, ANSWERED_AT_ONCE // asked.shape[1]))
        return torch.cat(
            [self.model.predict(self._kept, x.nan_to_num(0.0)[None], x.isnan()[None])[-1][0] for x in parts]
        )


def own_network(
    table: Table,
    seed: int,
    seconds: float,
    masking: Masking = Masking(),
    between: Between = "both",
    unlabelled: Tensor | None = None,
) -> OwnNetwork:
    """Train a network on this table alone for this long."""
    began = time.monotonic()
    prepared = Prepared.learn(table, unlabelled)
    spared = _spared(table, len(prepared.cells), seed)
    torch.manual_seed(seed_for("own", seed))
    config = NPT(categories=prepared.categories, between=between, width=64, layers=4, heads=4, dropout=0.1)
    model = config.build()
    maskings = _paced(model, Maskings(prepared, masking, 1, seed, spared, FEWEST_ROWS), seconds)
    training = Training(
        steps=maskings.steps,
        minutes=max(1e-6, seconds - (time.monotonic() - began)) / 60,
        optimiser=AdamW(lr=1e-3, weight_decay=0.0),
        schedule=WSD(warmup=10, stable=0.5),
        ema=0.99,
        eval_every=maskings.steps,
        checkpoint_minutes=60,
        seed=seed,
    )
    if maskings.steps < FEWEST_STEPS:
        told = f"there is time for {maskings.steps} steps only, which teach next to nothing; raise time_limit"
        warnings.warn(f"mode trained: {told}", ConvergenceWarning, stacklevel=2)
    train_here(model, MaskedCellsObjective(), maskings, training)
    chance = torch.Generator().manual_seed(seed_for("shown", seed))
    shown = torch.randperm(len(prepared.cells), generator=chance)[: SHOWN * maskings.at_once]
    return OwnNetwork(model, prepared, shown, _errors(model, prepared, table, spared, shown))


def _paced(model: NPTModel, maskings: Maskings, seconds: float) -> Maskings:
    """As many rows in a step as leave time for enough steps, and as many steps as there is time for.

    The share of the features in the loss follows from the number of steps, so it has to be known before the first.
    """
    began = time.monotonic()
    rows, columns = maskings.table.cells.shape
    most = min(rows, MOST_ROWS, max(FEWEST_ROWS, MOST_CELLS // columns))
    took = _seconds_of_a_step(model, maskings)  # which also warms up
    while took < 0.05 * seconds:
        took = _seconds_of_a_step(model, maskings)
        if maskings.at_once >= most or 2 * took * STEPS > seconds:
            break
        maskings = replace(maskings, at_once=min(most, 2 * maskings.at_once))
    model.zero_grad(set_to_none=True)
    left = seconds - (time.monotonic() - began) - 2 * took  # in the end some rows are read and told once more
    return replace(maskings, steps=max(1, int(left / (1.15 * took))))


def _seconds_of_a_step(model: NPTModel, maskings: Maskings) -> float:
    began = time.monotonic()
    MaskedCellsObjective().loss(model, maskings.batch(0)).total.backward()
    return time.monotonic() - began


def _spared(table: Table, rows: int, seed: int) -> Bool[Tensor, " row"]:
    """Rows whose targets will tell how wrong the network is: some of the numbers, where there are enough."""
    spared = torch.zeros(rows, dtype=torch.bool)
    labelled = len(table.target)
    if not table.classes and labelled >= FEWEST_TO_SPARE:
        order = torch.randperm(labelled, generator=torch.Generator().manual_seed(seed_for("spared", seed)))
        spared[order[: min(MOST_SPARED, round(SPARED * labelled))]] = True
    return spared


def _errors(
    model: NPTModel, prepared: Prepared, table: Table, spared: Bool[Tensor, " row"], shown: Int[Tensor, " shown"]
) -> Float[Tensor, " quantile"]:
    """Quantiles of what the network got wrong; of a table too small to spare rows, how far its targets are apart."""
    if table.classes:
        return torch.empty(0)
    errors = table.target - table.target.mean()
    if spared.any():
        others = OwnNetwork(model, prepared, shown[~spared[shown]], torch.empty(0))
        asked = prepared.cells[spared]
        truth, asked[:, -1] = asked[:, -1].clone(), torch.nan
        errors = (truth - others.tell(asked)[:, 0]).double() * prepared.spread[-1]
    levels = quantile_levels(QUANTILES).double().numpy()
    # Weibull's places: of few errors the outer quantiles are the outermost errors, not something between two of them.
    return torch.from_numpy(np.quantile(errors.double().numpy(), levels, method="weibull"))
