"""Held-out rows of one target with the predictors that have not seen them: a file's rows, one split, or several folds.

A small table is cross-validated, so that every row is predicted by a predictor that was fitted without it. Rows are
held out as `fit` did: at random, whole groups, or the last ones in time. All rows are encoded by the columns of the
fitted estimator, and predicted by predictors of its mode.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit
from torch import Tensor

from regard.core.errors import ConfigError
from regard.tables.encode.columns import Columns
from regard.tables.encode.table import EncodedTable
from regard.tables.network.pretrained import pretrained_model
from regard.tables.predictor import Predictor
from regard.tables.splits import group_folds, later_rows, sample, split_by_group, times_in_seconds
from regard.tables.threads import threads

Estimator = Any  # NPTClassifier or NPTRegressor: they call this package, which therefore does not import them
FOLDS = 5
MAX_ROWS_OF_FOLDS = 1000  # a fifth of more rows is enough to hold out
HELD_OUT = 0.2
MIN_ROWS = 10
MAX_HELD_OUT = 2000  # rows that are scored
FIT_SECONDS = 15.0  # for all folds and targets together
FIT_TIME = 0.3  # of the estimator's time limit, for one fold: as long as `fit` takes to score

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Fold:
    """A predictor, and the training rows that it knows."""

    predictor: Predictor
    table: EncodedTable
    rows: Int[np.ndarray, " row"]  # the position of each in the training table


@dataclass(frozen=True)
class HeldOutRows:
    """Rows of one target, each with the fold whose predictor has not seen it."""

    values: Float[Tensor, "row cell"]
    truth: np.ndarray  # numbers, or indices of classes; an index beyond the last is a class unseen in training
    fold_of: Int[np.ndarray, " row"]
    folds: tuple[Fold, ...]
    classes: int  # 0: regression

    def take(self, rows: Int[np.ndarray, " row"]) -> "HeldOutRows":
        return HeldOutRows(self.values[rows], self.truth[rows], self.fold_of[rows], self.folds, self.classes)

    def some(self, most: int) -> "HeldOutRows":
        """At most so many of the rows, drawn at random."""
        return self.take(sample(np.arange(len(self.truth)), most))

    def predict(self, values: Float[Tensor, "row cell"] | None = None) -> Float[np.ndarray, "row prediction"]:
        """Class probabilities, or mean and quantiles, of these rows or of changed ones that take their places."""
        values = self.values if values is None else values
        output: Tensor | None = None
        for number, fold in enumerate(self.folds):
            mine = torch.from_numpy(self.fold_of == number)
            if mine.any():
                part = fold.predictor.predict(values[mine]).double()
                output = part.new_empty(len(values), part.shape[1]) if output is None else output
                output[mine] = part
        assert output is not None
        return (output / output.sum(1, keepdim=True) if self.classes else output).numpy()


def file_rows(estimator: Estimator, number: int, values: Float[Tensor, "row cell"], truth: np.ndarray) -> HeldOutRows:
    """Rows of another table, for the estimator as it is."""
    table = estimator.tables_[number]
    fold = Fold(estimator.predictors_[number], table, np.arange(len(table.values)))
    return HeldOutRows(values, truth, np.zeros(len(truth), dtype=int), (fold,), table.classes)


@dataclass(frozen=True)
class Division:
    """Training and held-out rows of each fold, as positions in the training table."""

    train: tuple[Int[np.ndarray, "_"], ...]
    held_out: tuple[Int[np.ndarray, "_"], ...]
    how: str = ""  # if not at random: such as "whole groups of 'customer'"

    def describe(self, rows: int, seconds: float | None) -> str:
        count = sum(map(len, self.held_out))
        brief = "" if seconds is None else f" for {seconds:.2g} seconds"
        if len(self.train) > 1:
            some = "all" if count == rows else f"{count:,} of the"
            without = f", {self.how}" if self.how else ""
            return (
                f"{some} {rows:,} training rows, each predicted by a model fitted{brief} without it "
                f"({len(self.train)}-fold cross-validation{without})"
            )
        return (
            f"{count:,} training rows{f', {self.how},' if self.how else ' drawn at random,'} predicted by a model "
            f"fitted{brief} to {len(self.train[0]):,} of the other rows"
        )


def divide(estimator: Estimator, option: str = "", column: str = "") -> Division:
    """Folds of a small table, one split of a larger one; a row that was repeated by its weight is one row.

    With `--group` or `--time` and a column, whole groups or the last rows are held out, as `fit` did.
    """
    _, first, inverse = np.unique(estimator.rows_.numpy(), return_index=True, return_inverse=True)
    if len(first) < MIN_ROWS:
        raise ConfigError(
            f"{len(first)} training rows are too few to hold some out (at least {MIN_ROWS}); pass a table with the "
            "target for the report"
        )
    target, how = estimator.tables_[0].target.numpy()[first], ""
    classifies = estimator.tables_[0].classes > 0
    if option:
        cells = _cells(estimator, column).iloc[first]
        if option == "--time":
            split = later_rows(times_in_seconds(cells), column)
            splits: Sequence[tuple[np.ndarray, np.ndarray]] = [(split.train, split.held_out)]
            how = f"the last ones by {column!r}"
        else:
            splits, how = _group_splits(target, classifies, cells, estimator.seed_), f"whole groups of {column!r}"
    else:
        splits = _splits(target, classifies, estimator.seed_)
    train, held_out = zip(*splits, strict=True)
    most = MAX_HELD_OUT // len(train)
    return Division(
        tuple(np.flatnonzero(np.isin(inverse.reshape(-1), rows)) for rows in train),
        tuple(first[sample(rows, most)] for rows in held_out),
        how,
    )


def _cells(estimator: Estimator, column: str) -> pd.Series:
    """The cells of a column of the training rows, a feature or an ignored one."""
    if column in estimator.keys_:
        return estimator.keys_[column].infer_objects()
    frame = cells_of(estimator.columns_, estimator.tables_[0].values)
    if column not in frame:
        raise ConfigError(f"the run has no column {column!r}")
    return frame[column]


def cells_of(columns: Columns, values: Tensor) -> pd.DataFrame:
    """The cells of encoded rows. Numbers keep all digits, so that equal rows remain equal."""
    frame = columns.decode(values.numpy())
    for column, positions in zip(columns.columns, columns.positions(), strict=True):
        if column.kind == "number":
            frame[column.name] = values[:, positions[0]].double().numpy()
    return frame


def _splits(target: np.ndarray, classifies: bool, seed: int) -> Sequence[tuple[np.ndarray, np.ndarray]]:
    """Stratified if there are enough rows of every class."""
    least = np.unique(target, return_counts=True)[1].min() if classifies else 0
    if len(target) <= MAX_ROWS_OF_FOLDS:
        folds = StratifiedKFold if classifies and least >= FOLDS else KFold
        return list(folds(FOLDS, shuffle=True, random_state=seed).split(target, target))
    one = StratifiedShuffleSplit if classifies and least >= 2 else ShuffleSplit
    return list(one(1, test_size=HELD_OUT, random_state=seed).split(target, target))


def _group_splits(
    target: np.ndarray, classifies: bool, cells: pd.Series, seed: int
) -> Sequence[tuple[np.ndarray, np.ndarray]]:
    """Whole groups, in as many folds; the classes of numbers are all the same."""
    if len(target) > MAX_ROWS_OF_FOLDS:
        split = split_by_group(cells, seed)
        return [(split.train, split.held_out)]
    return group_folds(target if classifies else np.zeros(len(target)), cells, FOLDS, seed)


def fold_seconds(estimator: Estimator, folds: int) -> float | None:
    """The time to fit one predictor; None if nothing is trained."""
    if estimator.mode == "in_context":
        return None
    return min(FIT_TIME * estimator.time_limit, FIT_SECONDS / folds) / len(estimator.tables_)


def divided_rows(estimator: Estimator, number: int, division: Division) -> HeldOutRows:
    """The held-out rows of a division, with a predictor of the estimator's mode fitted for each fold."""
    table, folds = estimator.tables_[number], []
    seconds = fold_seconds(estimator, len(division.train)) or estimator.time_limit
    models = "a model" if len(division.train) == 1 else f"{len(division.train)} models"
    logger.info("report: fitting %s to %s rows, without those held out", models, f"{len(division.train[0]):,}")
    with threads(estimator.n_jobs), torch.random.fork_rng(devices=[]):  # leave the caller's random state alone
        model = None if estimator.mode == "scratch" else pretrained_model(estimator.weights)
        for rows in division.train:
            known = table.take(torch.from_numpy(rows))
            folds.append(Fold(estimator._fit_predictor(model, known, seconds, None), known, rows))
    rows = np.concatenate(division.held_out)
    fold_of = np.repeat(np.arange(len(folds)), [len(each) for each in division.held_out])
    truth = table.target.double().numpy()[rows]
    truth = truth.astype(int) if table.classes else truth
    return HeldOutRows(table.values[rows], truth, fold_of, tuple(folds), table.classes)
