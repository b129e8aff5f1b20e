"""Stochastic masking of a table's cells, the training data of the NPT (Kossen et al., 2021)."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.closed_form import Copies
from regard.core.batches import Batch
from regard.core.machine import seed_for
from regard.tables.encode.table import EncodedTable
from regard.tables.network.masked_cells import CellBatch

RANDOM_CELLS = 0.1  # fraction of masked cells that show another row's cell instead of the mask
CLIP = 10.0  # standard deviations


@dataclass(frozen=True)
class Masking:
    """Fractions of cells that are masked in training; the paper's ablations set one to 0, or the target's to 1."""

    features: float = 0.15
    target: float = 0.3


@dataclass(frozen=True)
class StandardisedTable:
    """A table with its target as the last column: numbers standardised, categories as codes."""

    cells: Float[Tensor, "row column"]  # NaN where missing or unknown
    categories: tuple[int, ...]
    mean: Float[Tensor, " column"]
    std: Float[Tensor, " column"]

    @classmethod
    def fit(cls, table: EncodedTable, unlabelled: Tensor | None = None) -> "StandardisedTable":
        values = table.values if unlabelled is None else torch.cat([table.values, unlabelled])
        target = torch.full((len(values),), torch.nan, dtype=table.target.dtype)
        target[: len(table.target)] = table.target
        cells = torch.cat([values.double(), target.double()[:, None]], 1)
        coded = zip(values.T, table.category, strict=True)
        counts = [int(column.nan_to_num(0).max()) + 2 if is_code else 0 for column, is_code in coded]
        categories = (*counts, table.classes)
        numeric = torch.tensor([count == 0 for count in categories])
        mean = torch.where(numeric, cells.nanmean(0).nan_to_num(0), 0.0)
        std = (cells - mean).square().nanmean(0).sqrt().nan_to_num(0)
        std = torch.where(numeric & (std > 1e-9 * mean.abs()), std, 1.0)
        cells = (cells - mean) / std
        cells[:, :-1] = torch.where(numeric[:-1], cells[:, :-1].clamp(-CLIP, CLIP), cells[:, :-1])
        return cls(cells.float(), categories, mean, std)

    def encode_queries(self, values: Float[Tensor, "row feature"]) -> Float[Tensor, "row column"]:
        """Query rows, whose target is unknown; all unseen categories share one code."""
        target = torch.full((len(values), 1), torch.nan)
        cells = ((torch.cat([values, target], 1).double() - self.mean) / self.std).float()
        last = torch.tensor([max(count - 1, 0) for count in self.categories]).float()
        return torch.where(last > 0, cells.minimum(last), cells.clamp(-CLIP, CLIP))


@dataclass(frozen=True)
class MaskedBatches:
    """Batches of one table with random masks; the weight of the features in the loss decays from one to zero."""

    table: StandardisedTable
    masking: Masking
    steps: int
    seed: int
    held_out: Bool[Tensor, " row"]  # rows whose target is never a training target
    batch_rows: int
    source: Int[Tensor, " row"] | None = None  # rows with the same one are copies, and have the same cells masked
    fixed_shape = False
    steps_per_epoch = 1000

    def batch(self, step: int) -> CellBatch:
        generator = torch.Generator().manual_seed(seed_for("mask", self.seed, step))
        rows = torch.randperm(len(self.table.cells), generator=generator)[: self.batch_rows]
        cells = self.table.cells[rows][None]
        known = ~cells.isnan()
        rate = torch.full((cells.shape[2],), self.masking.features)
        rate[-1] = self.masking.target
        same = self._first_copies(rows)
        predicted = (torch.rand(cells.shape, generator=generator)[:, same] < rate) & known
        predicted[..., -1] &= ~self.held_out[rows]
        swapped = (torch.rand(cells.shape, generator=generator)[:, same] < RANDOM_CELLS) & predicted
        swapped[..., -1] = False
        truth = cells.nan_to_num(0.0)
        visible = torch.where(swapped, truth.roll(1, 1), truth)
        features = 0.5 * (1 + math.cos(math.pi * min(1.0, step / self.steps)))
        if not self.masking.features:
            features = 0.0
        return CellBatch(visible, (predicted & ~swapped) | ~known, predicted, truth, features)

    def _first_copies(self, rows: Int[Tensor, " drawn"]) -> Int[Tensor, " drawn"]:
        """For each of these rows the place of its first copy among them."""
        copies = None if self.source is None else Copies.of(self.source[rows])
        return torch.arange(len(rows)) if copies is None else copies.first[copies.group]

    def once(self) -> Iterator[Batch]:
        yield self.batch(-1)
