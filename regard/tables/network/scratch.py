"""The Non-Parametric Transformer trained from scratch on one table, as in its paper (Kossen et al., 2021).

Features and targets are masked at random and predicted from the rest, at first mostly features, in the end only the
target. All rows of the table, or many of them, are one input.

A numeric target has one predicted value and no quantiles. These come from split conformal prediction: the targets of a
tenth of the rows are visible to other rows in training but never predicted; in the end they are masked and predicted,
and the quantiles of the residuals are added to every prediction. So all rows have an interval of the same width.
"""

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.core.machine import seed_for
from regard.models import NPT
from regard.models.npt import Between, NPTModel
from regard.parts.cache import KVCache
from regard.parts.taps import listen
from regard.tables.encode.table import EncodedTable
from regard.tables.network.in_context_loss import quantile_levels
from regard.tables.network.masked_cells import MaskedCellsObjective
from regard.tables.network.masking import MaskedBatches, Masking, StandardisedTable
from regard.tables.network.training import train_in_memory
from regard.train import WSD, AdamW, Training

MIN_BATCH_ROWS, MAX_BATCH_ROWS, MAX_BATCH_CELLS = 64, 1024, 24_000
TARGET_STEPS = 100  # batches are made smaller until there is time for so many
MIN_STEPS = 30  # with fewer, predictions are worse than the mean
CONTEXT_RATIO = 2  # context rows at prediction, relative to the rows of a batch
QUANTILES = 33
CELLS_PER_PASS = 24_000  # of query rows
HELD_OUT = 0.1  # fraction of rows for conformal residuals
MIN_ROWS_TO_HOLD_OUT = 40
MAX_HELD_OUT = 300


class NPTPredictor:
    """A trained NPT with its table."""

    attends_to_labels = False

    def __init__(
        self,
        model: NPTModel,
        table: StandardisedTable,
        context_rows: Int[Tensor, " context"],
        residuals: Float[Tensor, " quantile"],
    ):
        self.model, self.table = model.eval(), table
        self.context_rows = context_rows  # indices of the rows that query rows attend to
        self.residuals = residuals  # quantiles of truth minus prediction; empty for classes
        self._context: Sequence[KVCache] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """The encoded context can be computed again."""
        return {**self.__dict__, "_context": None}

    def predict(self, values: Float[Tensor, "row column"]) -> Float[Tensor, "row prediction"]:
        output = self.forward(self.table.encode_queries(values))
        if self.table.categories[-1]:
            return output.softmax(-1)
        number = output.double() * self.table.std[-1] + self.table.mean[-1]
        return torch.cat([number, number + self.residuals], 1)

    @torch.inference_mode()
    def row_weights(self, values: Float[Tensor, "row column"]) -> Float[Tensor, "row context"]:
        """Attention on each training row, averaged over layers and heads."""
        with listen(self.model) as heard:
            self.forward(self.table.encode_queries(values))
        patterns = [heard.whole(name) for name in heard if name.startswith("rows.")]
        weights = torch.zeros(len(values), len(self.table.cells))
        weights[:, self.context_rows] = torch.stack(patterns).mean((0, 2))[0]
        return weights

    @torch.inference_mode()
    def forward(self, queries: Float[Tensor, "row column"]) -> Float[Tensor, "row output"]:
        """The network's output for the target of query rows, which attend to the context rows only."""
        if self._context is None:
            context = self.table.cells[self.context_rows][None]
            self._context = self.model.encode_context(context.nan_to_num(0.0), context.isnan())
        parts = queries.split(max(1, CELLS_PER_PASS // queries.shape[1]))
        return torch.cat(
            [self.model.predict(self._context, x.nan_to_num(0.0)[None], x.isnan()[None])[-1][0] for x in parts]
        )


@dataclass(frozen=True)
class ScratchSettings:
    """What is varied in ablations."""

    masking: Masking = Masking()
    between: Between = "both"


def train_from_scratch(
    table: EncodedTable,
    seed: int,
    seconds: float,
    settings: ScratchSettings = ScratchSettings(),
    unlabelled: Tensor | None = None,
) -> NPTPredictor:
    """Train an NPT on this table alone, for so many seconds."""
    began = time.monotonic()
    standardised = StandardisedTable.fit(table, unlabelled)
    held_out = _held_out(table, len(standardised.cells), seed)
    torch.manual_seed(seed_for("own", seed))
    config = NPT(categories=standardised.categories, between=settings.between, width=64, layers=4, heads=4, dropout=0.1)
    model = config.build()
    source = _source(table, len(standardised.cells))
    batches = MaskedBatches(standardised, settings.masking, 1, seed, held_out, MIN_BATCH_ROWS, source)
    batches = _fit_to_time(model, batches, seconds)
    training = Training(
        steps=batches.steps,
        minutes=max(1e-6, seconds - (time.monotonic() - began)) / 60,
        optimiser=AdamW(lr=1e-3, weight_decay=0.0),
        schedule=WSD(warmup=10, stable=0.5),
        ema=0.99,
        eval_every=batches.steps,
        checkpoint_minutes=60,
        seed=seed,
    )
    if batches.steps < MIN_STEPS:
        message = f"mode scratch: there is time for {batches.steps} steps only, too few to learn; raise time_limit"
        from sklearn.exceptions import ConvergenceWarning  # slow to import

        warnings.warn(message, ConvergenceWarning, stacklevel=2)
    train_in_memory(model, MaskedCellsObjective(), batches, training)
    generator = torch.Generator().manual_seed(seed_for("shown", seed))
    context = torch.randperm(len(standardised.cells), generator=generator)[: CONTEXT_RATIO * batches.batch_rows]
    return NPTPredictor(model, standardised, context, _residuals(model, standardised, table, held_out, context))


def _fit_to_time(model: NPTModel, batches: MaskedBatches, seconds: float) -> MaskedBatches:
    """The largest batches that leave time for enough steps, and the number of steps there is time for.

    The weight of the features in the loss depends on the number of steps, so it must be known in advance.
    """
    began = time.monotonic()
    rows, columns = batches.table.cells.shape
    most = min(rows, MAX_BATCH_ROWS, max(MIN_BATCH_ROWS, MAX_BATCH_CELLS // columns))
    step = _seconds_per_step(model, batches)  # also a warm-up
    while step < 0.05 * seconds:
        step = _seconds_per_step(model, batches)
        if batches.batch_rows >= most or 2 * step * TARGET_STEPS > seconds:
            break
        batches = replace(batches, batch_rows=min(most, 2 * batches.batch_rows))
    model.zero_grad(set_to_none=True)
    left = seconds - (time.monotonic() - began) - 2 * step  # the residuals take another pass
    return replace(batches, steps=max(1, int(left / (1.15 * step))))


def _seconds_per_step(model: NPTModel, batches: MaskedBatches) -> float:
    began = time.monotonic()
    MaskedCellsObjective().loss(model, batches.batch(0)).total.backward()
    return time.monotonic() - began


def _held_out(table: EncodedTable, rows: int, seed: int) -> Bool[Tensor, " row"]:
    """Rows for conformal residuals: some, if the target is numeric and there are enough rows."""
    held_out = torch.zeros(rows, dtype=torch.bool)
    copies = table.copies()
    labelled = len(table.target) if copies is None else len(copies.first)
    if not table.classes and labelled >= MIN_ROWS_TO_HOLD_OUT:
        order = torch.randperm(labelled, generator=torch.Generator().manual_seed(seed_for("spared", seed)))
        chosen = order[: min(MAX_HELD_OUT, round(HELD_OUT * labelled))]
        held_out[chosen if copies is None else torch.isin(copies.group, chosen).nonzero()[:, 0]] = True
    return held_out


def _source(table: EncodedTable, rows: int) -> Int[Tensor, " row"] | None:
    """That of the table; rows without a target, which stand after the others, are copies of none."""
    if table.source is None:
        return None
    free = int(table.source.max()) + 1
    return torch.cat([table.source, torch.arange(free, free + rows - len(table.source))])


def _residuals(
    model: NPTModel,
    standardised: StandardisedTable,
    table: EncodedTable,
    held_out: Bool[Tensor, " row"],
    context: Int[Tensor, " context"],
) -> Float[Tensor, " quantile"]:
    """Quantiles of the residuals of held-out rows or, in a table too small for them, of the targets themselves."""
    if table.classes:
        return torch.empty(0)
    residuals = table.target - table.target.mean()
    if held_out.any():
        predictor = NPTPredictor(model, standardised, context[~held_out[context]], torch.empty(0))
        queries = standardised.cells[held_out]
        truth, queries[:, -1] = queries[:, -1].clone(), torch.nan
        residuals = (truth - predictor.forward(queries)[:, 0]).double() * standardised.std[-1]
    levels = quantile_levels(QUANTILES).double().numpy()
    # Weibull plotting positions: the outer quantiles of few residuals are the extreme residuals themselves.
    return torch.from_numpy(np.quantile(residuals.double().numpy(), levels, method="weibull"))
