"""Shapley values of columns: how far each cell moves the prediction away from the average one.

A background row, drawn from the training rows, becomes the query row one column after another, in a random order; each
change of the prediction belongs to the column that was replaced (Štrumbelj & Kononenko, 2014). The mean over orders
and background rows divides interactions fairly, and an empty cell counts like any other. Each order is also taken in
reverse, which halves the error at least (Mitchell et al., 2022).

The change that a cell makes depends above all on the cell that it replaces, and few background rows are drawn. So the
changes are weighted as the replaced cells are distributed in the whole table (post-stratification).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.core.machine import seed_for
from regard.tables.encode.table import EncodedTable
from regard.tables.predictor import Predictor

PREDICTIONS = 1024  # for one query row
MAX_PREDICTIONS = 16_384  # for all query rows together, unless they are very many
MIN_ORDERS, MAX_ORDERS = 4, 64  # each also in reverse
STRATUM = 4  # orders of a stratum, about


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
    budget = min(PREDICTIONS, MAX_PREDICTIONS // max(1, len(values)))
    count = max(MIN_ORDERS, min(MAX_ORDERS, budget // (2 * (len(columns) + 1))))
    generator = torch.Generator().manual_seed(seed_for("attribution", seed))
    rows = _background_rows(table, count, generator)
    background, strata = table.values[rows], _strata(table.values, rows, columns)
    ranks = torch.rand(count, len(columns), generator=generator).argsort(1)
    ranks = torch.stack([ranks, len(columns) - 1 - ranks], 1)  # order, forwards and in reverse, column
    replaced = _replaced_cells(ranks, columns, values.shape[1])
    output = predictor.predict(values).argmax(1) if table.classes else torch.zeros(len(values), dtype=torch.long)
    parts = [
        _effects(predictor, row, place, background, replaced, ranks, strata)
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


@dataclass(frozen=True)
class Strata:
    """Parts of the range of each column's cells, and how background rows represent them."""

    number: Int[Tensor, "order column"]
    weight: Float[Tensor, "order column"]  # of the orders in a column's mean: they sum to 1


def _strata(
    values: Float[Tensor, "row cell"], background: Int[Tensor, " order"], columns: Sequence[Sequence[int]]
) -> Strata:
    """Equal parts of the ranks of each column's first cell; those without a background row are left out."""
    count = max(1, len(background) // STRATUM)
    first = values[:, [places[0] for places in columns]].nan_to_num(nan=torch.inf)
    ascending = first.sort(0).values.T.contiguous()
    sought = first.T.contiguous()
    rank = torch.searchsorted(ascending, sought) + torch.searchsorted(ascending, sought, right=True)  # twice the mean
    number = (rank.T * count // (2 * len(values))).clamp(max=count - 1)
    share = nn.functional.one_hot(number, count).double().mean(0)
    drawn = nn.functional.one_hot(number[background], count).double().sum(0)
    weight = (share / drawn.clamp(min=1)).gather(1, number[background].T).T
    return Strata(number[background], weight / weight.sum(0))


def _effects(
    predictor: Predictor,
    row: Float[Tensor, " cell"],
    output: int,
    background: Float[Tensor, "order cell"],
    replaced: Bool[Tensor, "order way step cell"],
    ranks: Int[Tensor, "order way column"],
    strata: Strata,
) -> tuple[Tensor, Tensor, Tensor]:
    rows = torch.where(replaced, row, background[:, None, None])
    predicted = predictor.predict(rows.flatten(0, 2))[:, output].double().unflatten(0, rows.shape[:3])
    changes = predicted.diff(dim=2).gather(2, ranks).mean(1)  # by each column, in each order
    effects = (strata.weight * changes).sum(0)
    # The mean prediction of background rows would miss what their weights correct.
    return predicted[0, 0, -1] - effects.sum(), effects, _standard_errors(changes, strata)


def _standard_errors(changes: Float[Tensor, "order column"], strata: Strata) -> Float[Tensor, " column"]:
    """From the deviations within strata; of a stratum with a single order, from the mean deviation of the others."""
    same = strata.number[:, None] == strata.number[None]
    size = same.sum(1).double()
    mean = (same * changes[None]).sum(1) / size
    several = size > 1
    squares = (changes - mean).square() * size / (size - 1).clamp(min=1)
    typical = (squares * several).sum(0) / several.sum(0).clamp(min=1)
    alone = torch.where(several.any(0), typical, changes.var(0, correction=0))
    return (strata.weight.square() * torch.where(several, squares, alone)).sum(0).sqrt()
