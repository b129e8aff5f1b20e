"""Importance of columns: how much the loss on held-out rows grows if the cells of one column are shuffled.

Permutation importance (Breiman, 2001), with the model that has not seen these rows. The shuffled cells also show in
which direction a column moves the prediction, at no further cost. Of a wide table only those columns are measured
that move the predictions of a few rows at all.
"""

import numpy as np
import torch
from jaxtyping import Float, Int

from regard.tables.encode.columns import Columns
from regard.tables.report.accuracy import RESAMPLES, interval
from regard.tables.report.direction import Outputs, describe_direction
from regard.tables.report.held_out import HeldOutRows
from regard.tables.report.results import ColumnImportance, Importance, Interval

PREDICTIONS = 2000
MAX_MEASURED = 20  # columns
MAX_REPEATS = 5
MAX_ROWS = 500
MIN_PROBABILITY = 1e-15


def measure_importance(rows: HeldOutRows, columns: Columns, outputs: Outputs, seed: int) -> Importance:
    rng = np.random.default_rng(seed)
    rows = rows.take(np.flatnonzero(rows.truth < rows.classes)) if rows.classes else rows
    numbers = [number for number, column in enumerate(columns.columns) if column.filled]
    chosen = _screened(rows, columns, outputs, numbers, rng)
    some = rows.some(max(20, min(MAX_ROWS, PREDICTIONS // max(1, len(chosen)))))
    size = len(some.truth)
    repeats = max(1, min(MAX_REPEATS, PREDICTIONS // max(1, len(chosen) * size)))
    orders = np.stack([rng.permutation(size) for _ in range(len(chosen) * repeats)]).reshape(len(chosen), repeats, size)
    before = some.predict()
    after = _predict_shuffled(some, columns, chosen, orders)
    draws = rng.integers(size, size=(RESAMPLES, size))
    results = []
    for place, number in enumerate(chosen):
        column, cells = columns.columns[number], some.values[:, columns.positions()[number]].numpy()
        change = outputs.of(after[place]) - outputs.of(before)
        direction = describe_direction(column, cells, cells[orders[place]], change, outputs)
        results.append(
            ColumnImportance(column.name, column.kind, _growth(some, before, after[place], draws), direction)
        )
    results.sort(key=lambda one: -one.loss.value)
    metric = "log_loss" if rows.classes else "rmse"
    return Importance(metric, tuple(results), len(numbers) - len(chosen), size, repeats)


def _screened(
    rows: HeldOutRows, columns: Columns, outputs: Outputs, numbers: list[int], rng: np.random.Generator
) -> list[int]:
    """The columns whose shuffled cells move the prediction most, of a few rows each."""
    if len(numbers) <= MAX_MEASURED:
        return numbers
    some = rows.some(max(8, PREDICTIONS // len(numbers)))
    orders = np.stack([rng.permutation(len(some.truth))[None] for _ in numbers])
    change = outputs.of(_predict_shuffled(some, columns, numbers, orders)) - outputs.of(some.predict())
    moved = np.abs(change).mean((1, 2, 3))
    return [numbers[place] for place in np.sort(np.argsort(-moved, kind="stable")[:MAX_MEASURED])]


def _predict_shuffled(
    rows: HeldOutRows, columns: Columns, numbers: list[int], orders: Int[np.ndarray, "column repeat row"]
) -> Float[np.ndarray, "column repeat row prediction"]:
    """Predictions with the cells of one column in another order; all at once, as each call has its price."""
    if not numbers:
        return np.zeros((0, 1, len(rows.truth), max(1, rows.classes)))
    parts = []
    for number, by_repeat in zip(numbers, orders, strict=True):
        positions = columns.positions()[number]
        for order in by_repeat:
            values = rows.values.clone()
            values[:, positions] = rows.values[order][:, positions]
            parts.append(values)
    predicted = rows.take(np.tile(np.arange(len(rows.truth)), len(parts))).predict(torch.cat(parts))
    return predicted.reshape(*orders.shape, -1)


def _growth(
    rows: HeldOutRows,
    before: Float[np.ndarray, "row prediction"],
    after: Float[np.ndarray, "repeat row prediction"],
    draws: Int[np.ndarray, "draw row"],
) -> Interval:
    """By how much the loss grows, with a confidence interval over rows."""
    old, new = _row_losses(rows, before), np.stack([_row_losses(rows, each) for each in after])
    if rows.classes:
        growth = (new - old).mean(0)
        return interval(growth.mean(), growth[draws].mean(1))
    drawn = np.mean([np.sqrt(each[draws].mean(1)) for each in new], axis=0) - np.sqrt(old[draws].mean(1))
    return interval(float(np.sqrt(new.mean(1)).mean() - np.sqrt(old.mean())), drawn)


def _row_losses(rows: HeldOutRows, output: Float[np.ndarray, "row prediction"]) -> Float[np.ndarray, " row"]:
    """Squared errors, or negative log-likelihoods."""
    if not rows.classes:
        return (output[:, 0] - rows.truth) ** 2
    return -np.log(np.clip(output[np.arange(len(rows.truth)), rows.truth], MIN_PROBABILITY, 1))
