"""Scoring a table: each column in turn is the target, predicted from the others by rows of other folds.

A row is never its own evidence: it is scored by rows of the other folds, and equal rows are in one fold. Rows that are
not in the table that was fitted are scored like those of the first fold.
"""

import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.core.machine import seed_for
from regard.models.in_context import InContextModel
from regard.tables.anomalies.columns import Levels, Role
from regard.tables.anomalies.surprise import (
    BITS,
    QuantileLaw,
    level_surprise,
    number_surprise,
    resolution_of,
    unseen_probability,
)
from regard.tables.encode.table import EncodedTable
from regard.tables.ensemble import relevance
from regard.tables.folds import assign_folds
from regard.tables.network.in_context import InContextPredictor, Members
from regard.tables.predictor import interpolate_quantiles

FOLDS, FEW_FOLDS = 3, 2
MAX_FEATURES = 16  # numbers that a column is predicted from: those most correlated with it
FIRST_MEMBER = 1  # the first one that reads a number by its rank, so that outliers in the context do no harm
MANY_ROWS = 2000  # from which on half of the table is context enough
INTERVAL = (0.05, 0.5, 0.95)
VERY_SURPRISING = 10.0  # bits of a cell that is hidden when the other cells of its row are predicted
FENCE = 3.0  # distances of the quartiles beyond them from which on a number may be an error (Tukey, 1977)
FAR = 0.01  # of a column, at most, that are pulled in at each end
PROGRESS_SECONDS = 10.0

logger = logging.getLogger("regard.tables")


@dataclass(frozen=True)
class Scored:
    """A scored column: where it is in the encoded rows, and how it is predicted."""

    name: str
    role: Role
    places: tuple[int, ...]  # the first is the one that is predicted


@dataclass(frozen=True)
class CellScores:
    """For each row and scored column. Expected are the median and an interval of 90 %, or the most probable level."""

    bits: Float[np.ndarray, "row column"]  # surprise beyond what was to be expected
    expected: Float[np.ndarray, "row column"]
    low: Float[np.ndarray, "row column"]  # of numbers; NaN for levels
    high: Float[np.ndarray, "row column"]
    probability: Float[np.ndarray, "row column"]  # of the most probable level; NaN for numbers
    total: Float[np.ndarray, " row"]  # surprise of each row, before a cell of it was hidden from the others


class CellScorer:
    """The fitted table, and predictors of its columns that are made when they are needed."""

    def __init__(
        self,
        model: InContextModel,
        values: Float[Tensor, "row cell"],
        category: Bool[Tensor, " cell"],
        columns: Sequence[Scored],
        members: int,
        max_context: int,
        seed: int,
    ):
        self.model, self.values, self.category, self.columns = model, values, category, columns
        self.members, self.max_context, self.seed = members, max_context, seed
        folds = FOLDS if len(values) < MANY_ROWS else FEW_FOLDS
        self.fold_of = assign_folds(EncodedTable(values, category, torch.zeros(len(values)), 0), folds, seed)
        self._folds = {row.tobytes(): int(fold) for row, fold in zip(_plain(values), self.fold_of, strict=True)}

    def score(self, values: Float[Tensor, "row cell"]) -> CellScores:
        """The surprise of every cell of these rows."""
        folds = torch.tensor([self._folds.get(row.tobytes(), 0) for row in _plain(values)])
        parts = np.stack([self._score_column(one, values, folds) for one in _with_progress(self.columns)], 1)
        total = row_surprise(parts[:, :, 0])
        self._hide_surprising(parts, values, folds)
        bits, expected, low, high, probability = parts.transpose(2, 0, 1)
        return CellScores(bits, expected, low, high, probability, total)

    def _hide_surprising(
        self, parts: Float[np.ndarray, "row column part"], values: Float[Tensor, "row cell"], folds: Int[Tensor, " row"]
    ) -> None:
        """Score rows with a very surprising cell again, with that cell hidden where it would mislead about others."""
        worst = parts[:, :, 0].argmax(1)
        misled = np.flatnonzero(parts[:, :, 0].max(1) > VERY_SURPRISING)
        hidden = values[misled].clone()
        for row, column in enumerate(worst[misled].tolist()):
            hidden[row, list(self.columns[column].places)] = torch.nan
        for number, column in enumerate(self.columns):
            some = np.flatnonzero(worst[misled] != number)
            if len(some):
                rows = misled[some]
                parts[rows, number] = self._score_column(column, hidden[some], folds[rows])

    def _score_column(
        self, column: Scored, values: Float[Tensor, "row cell"], folds: Int[Tensor, " row"]
    ) -> Float[np.ndarray, "row part"]:
        """The parts of `CellScores` of one column."""
        missing = self.values[:, column.places[0]].isnan()
        rate = (float(missing.sum()) + 0.5) / (len(missing) + 1)
        entropy = -(rate * np.log(rate) + (1 - rate) * np.log1p(-rate)) * BITS
        scores = torch.full((len(values), 5), torch.nan, dtype=torch.double)
        scores[:, 0] = -np.log(rate) * BITS - entropy  # of a missing cell
        for fold in folds.unique().tolist():
            rows = ((folds == fold) & ~values[:, column.places[0]].isnan()).nonzero()[:, 0]
            if len(rows):
                scores[rows] = self._score_known(column, values[rows], fold)
                scores[rows, 0] += -np.log1p(-rate) * BITS - entropy
        return scores.numpy()

    def _score_known(self, column: Scored, values: Float[Tensor, "row cell"], fold: int) -> Float[Tensor, "row part"]:
        context = self._context(column, fold)
        cells, known = values[:, column.places[0]], self.values[context, column.places[0]]
        if column.role == "levels":
            levels = Levels.of(known)
            codes = levels.codes(known)
            selected = codes >= 0
            unseen = unseen_probability(codes[selected], int((~selected).sum()))
            probabilities = torch.ones(len(values), 1)
            if len(levels.values) > 1:
                labels = codes[selected].float()
                probabilities = self._predict(column, context[selected], labels, len(levels.values), values)
            best = probabilities.max(1)
            frequencies = torch.bincount(codes[selected], minlength=len(levels.values)) / max(1, int(selected.sum()))
            surprise = level_surprise(probabilities, frequencies, levels.codes(cells), unseen)
            nothing = torch.full((len(values),), torch.nan)
            return _columns(surprise, levels.values[best.indices], nothing, nothing, best.values)
        prediction = self._predict(column, context, pulled_in(known.double()), 0, values)
        resolution = resolution_of(known)
        own = QuantileLaw.of_column(known, len(values), resolution)
        surprise = number_surprise(QuantileLaw.of(prediction[:, 1:], resolution), own, cells)
        low, middle, high = interpolate_quantiles(prediction, INTERVAL).unbind(1)
        return _columns(surprise, middle, low, high, torch.full((len(values),), torch.nan))

    def _context(self, column: Scored, fold: int) -> Int[Tensor, " context"]:
        """Rows of the other folds with a known cell, or some of them."""
        rows = ((self.fold_of != fold) & ~self.values[:, column.places[0]].isnan()).nonzero()[:, 0]
        if not len(rows):  # the only known cells are in this fold
            rows = (~self.values[:, column.places[0]].isnan()).nonzero()[:, 0]
        generator = torch.Generator().manual_seed(seed_for("anomalies", self.seed, fold))
        return rows[torch.randperm(len(rows), generator=generator)[: self.max_context]].sort().values

    def _predict(
        self, column: Scored, context: Int[Tensor, " context"], target: Tensor, classes: int, values: Tensor
    ) -> Float[Tensor, "row prediction"]:
        """The column in some rows, from its known cells in context rows."""
        others = [place for one in self.columns if one is not column for place in one.places]
        category = self.category[others] if others else torch.zeros(1, dtype=torch.bool)
        table = EncodedTable(_select(self.values[context], others), category, target, classes)
        if len(others) > MAX_FEATURES:
            best = relevance(table).argsort(descending=True)[:MAX_FEATURES].sort().values
            others = [others[place] for place in best.tolist()]
            table = replace(table, values=table.values[:, best], category=category[best])
        predictor = InContextPredictor(self.model, table, Members(self.members, FIRST_MEMBER), self.seed)
        return predictor.predict(_select(values, others))


def row_surprise(bits: Float[np.ndarray, "row column"]) -> Float[np.ndarray, " row"]:
    """The surprise of each row: the norm of that of its cells, where it is more than expected.

    So one cell that is plainly wrong counts more than several that are slightly unusual.
    """
    return np.sqrt(np.square(bits.clip(min=0)).sum(1))


def pulled_in(numbers: Float[Tensor, " row"]) -> Float[Tensor, " row"]:
    """Numbers of which the few that are far from all others are no farther than a fence (winsorised).

    One number that is wrong by orders of magnitude would else widen the predictions of all rows like its own.
    """
    low, quarter, other, high = torch.quantile(numbers, torch.tensor([FAR, 0.25, 0.75, 1 - FAR]).double())
    reach = FENCE * (other - quarter)
    return numbers.clamp(torch.minimum(low, quarter - reach), torch.maximum(high, other + reach))


def _with_progress(columns: Sequence[Scored]) -> Iterator[Scored]:
    """Columns, one after another; how long the others take is logged from time to time."""
    began = said = time.monotonic()
    for number, column in enumerate(columns, 1):
        yield column
        if time.monotonic() - said > PROGRESS_SECONDS:
            said = time.monotonic()
            left = (said - began) / number * (len(columns) - number)
            logger.info("scored %d of %d columns; about %.0f s to go", number, len(columns), left)


def _columns(*parts: Tensor) -> Float[Tensor, "row part"]:
    return torch.stack([part.double() for part in parts], 1)


def _select(values: Tensor, places: list[int]) -> Tensor:
    """Some columns; if there are none, one that is constant."""
    return values[:, places] if places else torch.zeros_like(values[:, :1])


def _plain(values: Float[Tensor, "row cell"]) -> np.ndarray:
    """Rows whose bytes are equal if the rows are."""
    return np.ascontiguousarray((values.nan_to_num(nan=torch.inf) + 0.0).numpy())
