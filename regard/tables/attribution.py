"""Shapley values of columns: how far each cell moves the prediction away from the average one.

A background row, drawn from the training rows, becomes the query row one column after another, in a random order; each
change of the prediction belongs to the column that was replaced (Štrumbelj & Kononenko, 2014). The mean over orders
and background rows divides interactions fairly, and an empty cell counts like any other. Each order is also taken in
reverse, which halves the error at least (Mitchell et al., 2022).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.core.machine import seed_for
from regard.tables.encode.table import EncodedTable
from regard.tables.predictor import Predictor

PREDICTIONS = 1024  # that all query rows together may take, unless they are very many
MIN_ORDERS, MAX_ORDERS = 2, 64  # each also in reverse


@dataclass(frozen=True)
class Attribution:
    """Effects that sum to the difference between the prediction and the average prediction of background rows."""

    base: Float[Tensor, " row"]
    effects: Float[Tensor, "row column"]
    errors: Float[Tensor, "row column"]  # standard errors of the effects


def shapley_values(
    predictor: Predictor,
    values: Float[Tensor, "row cell"],
    columns: Sequence[Sequence[int]],
    table: EncodedTable,
    seed: int,
) -> Attribution:
    """Effects on the probability of the predicted class, or on the predicted number, given the cells of each column."""
    most = PREDICTIONS // max(1, 2 * (len(columns) + 1) * len(values))
    count = max(MIN_ORDERS, min(MAX_ORDERS, most))
    generator = torch.Generator().manual_seed(seed_for("attribution", seed))
    background = table.values[_background_rows(table, count, generator)]
    ranks = torch.rand(count, len(columns), generator=generator).argsort(1)
    ranks = torch.stack([ranks, len(columns) - 1 - ranks], 1)  # order, forwards and in reverse, column
    replaced = _replaced_cells(ranks, columns, values.shape[1])
    output = predictor.predict(values).argmax(1) if table.classes else torch.zeros(len(values), dtype=torch.long)
    parts = [
        _effects(predictor, row, place, background, replaced, ranks)
        for row, place in zip(values, output.tolist(), strict=True)
    ]
    return Attribution(*(torch.stack(each) for each in zip(*parts, strict=True)))


def _background_rows(table: EncodedTable, count: int, generator: torch.Generator) -> Int[Tensor, " row"]:
    """Training rows drawn at random, one from each of equal parts of the rows sorted by target."""
    parts = torch.arange(count) + torch.rand(count, generator=generator)
    return table.target.argsort(stable=True)[(parts * len(table.target) / count).long()]


def _replaced_cells(
    ranks: Int[Tensor, "order way column"], columns: Sequence[Sequence[int]], cells: int
) -> Bool[Tensor, "order way step cell"]:
    """Which cells are those of the query row, after each step. Cells of no column always are."""
    steps = torch.arange(len(columns) + 1)
    replaced = torch.ones(*ranks.shape[:2], len(steps), cells, dtype=torch.bool)
    for number, places in enumerate(columns):
        replaced[..., list(places)] = (ranks[..., number, None] < steps)[..., None]
    return replaced


def _effects(
    predictor: Predictor,
    row: Float[Tensor, " cell"],
    output: int,
    background: Float[Tensor, "order cell"],
    replaced: Bool[Tensor, "order way step cell"],
    ranks: Int[Tensor, "order way column"],
) -> tuple[Tensor, Tensor, Tensor]:
    rows = torch.where(replaced, row, background[:, None, None])
    predicted = predictor.predict(rows.flatten(0, 2))[:, output].double().unflatten(0, rows.shape[:3])
    effects = predicted.diff(dim=2).gather(2, ranks).mean(1)  # of each column, by order
    # Background rows are sorted by target, so neighbours differ by what is random: their differences give the error.
    variance = effects.diff(dim=0).square().sum(0) / (2 * (len(effects) - 1))
    return predicted[:, 0, 0].mean(), effects.mean(0), (variance / len(effects)).sqrt()
