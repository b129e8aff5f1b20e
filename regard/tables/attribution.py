"""Shapley values of columns: how far each cell moves the prediction away from the average one.

A background row, drawn from the training rows, becomes the query row one column after another, in a random order; each
change of the prediction belongs to the column that was replaced (Štrumbelj & Kononenko, 2014). The mean over orders
and background rows divides interactions fairly, and an empty cell counts like any other. Each order is also taken in
reverse, which halves the error at least (Mitchell et al., 2022).

The change that a cell makes depends above all on the cell that it replaces and, where columns interact, on the other
cells of the background row, of which few are drawn. So the change is fitted by a linear spline over the replaced cell
and a line over each other cell, and the mean of the fit over the whole table is taken (the regression estimator of
survey sampling). That is a weighted mean of the changes, with weights for each column.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.core.machine import seed_for
from regard.tables.encode.table import EncodedTable
from regard.tables.predictor import Predictor

PREDICTIONS = 2048  # for one query row
MAX_PREDICTIONS = 16_384  # for all query rows together, unless they are very many
MIN_ORDERS, MAX_ORDERS = 4, 128  # each also in reverse
ORDERS_A_KNOT, MAX_KNOTS = 5, 10  # of the spline over the replaced cell
SMOOTHING = 0.1  # in orders: it decides only where there are hardly any
MIN_SHARE = 0.1  # of a change in its own residual, which keeps standard errors finite
MAX_DEVIATION = 3.0  # standard deviations, of the lines over other cells


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
    background, fit = table.values[rows], _fit(table.values, rows, columns)
    ranks = torch.rand(count, len(columns), generator=generator).argsort(1)
    ranks = torch.stack([ranks, len(columns) - 1 - ranks], 1)  # order, forwards and in reverse, column
    replaced = _replaced_cells(ranks, columns, values.shape[1])
    output = predictor.predict(values).argmax(1) if table.classes else torch.zeros(len(values), dtype=torch.long)
    parts = [
        _effects(predictor, row, place, background, replaced, ranks, fit)
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
class Fit:
    """How the changes of all orders make the effect of a column, and what the fit leaves unexplained of them."""

    weight: Float[Tensor, "order column"]  # of the orders in a column's effect: they sum to 1
    residual: Float[Tensor, "column order order"]  # takes changes to what remains of them

    def effects(self, changes: Float[Tensor, "order column"]) -> Float[Tensor, " column"]:
        return (self.weight * changes).sum(0)

    def standard_errors(self, changes: Float[Tensor, "order column"]) -> Float[Tensor, " column"]:
        rest = torch.einsum("jab,bj->aj", self.residual, changes)
        share = self.residual.diagonal(dim1=1, dim2=2).T.clamp(min=MIN_SHARE)  # of a change, in its own residual
        return (self.weight.square() * rest.square() / share).sum(0).sqrt()


def _fit(values: Float[Tensor, "row cell"], background: Int[Tensor, " order"], columns: Sequence[Sequence[int]]) -> Fit:
    """A ridge regression of the changes for each column: on its spline, and on the lines of the other columns.

    There may be many more lines than orders. As their penalty is known, they only add covariance between the orders.
    """
    knots = min(MAX_KNOTS, len(background) // ORDERS_A_KNOT)
    lines = _lines(values[:, [places[0] for places in columns]].double())
    drawn, means = lines[background], lines.mean(0)
    orders = torch.eye(len(drawn)).double()
    weights, residuals = [], []
    for places, own, mean in zip(columns, drawn.T, means, strict=True):
        basis, bends = _linear_spline(values[:, places[0]].double(), knots)
        spline = basis[background]
        covariance = orders + (drawn @ drawn.T - torch.outer(own, own)) / len(columns)
        precision = torch.cholesky_inverse(torch.linalg.cholesky(covariance))
        by_lines = (drawn @ means - own * mean) / len(columns)
        whitened = precision @ spline
        inverse = torch.linalg.pinv(spline.T @ whitened + SMOOTHING * bends.T @ bends, hermitian=True)
        knot_means = inverse @ (basis.mean(0) - whitened.T @ by_lines)
        weights.append(whitened @ knot_means + precision @ by_lines)
        residuals.append(precision - whitened @ inverse @ whitened.T)
    return Fit(torch.stack(weights, 1), torch.stack(residuals))


def _lines(cells: Float[Tensor, "row column"]) -> Float[Tensor, "row column"]:
    """Standardised cells: what a change owes to the other cells of its background row, if columns interact."""
    mean = cells.nanmean(0).nan_to_num()
    centred = (cells - mean).nan_to_num()
    return (centred / centred.std(0, correction=0).clamp(min=1e-9)).clamp(-MAX_DEVIATION, MAX_DEVIATION)


def _linear_spline(
    cells: Float[Tensor, " row"], count: int
) -> tuple[Float[Tensor, "row knot"], Float[Tensor, "bend knot"]]:
    """The share of each knot in each cell, and the bends between knots, which are to be small.

    Knots are at quantiles; few different values have one each, and so have missing cells, as the last one.
    """
    missing = cells.isnan()
    knots = cells[~missing].unique()
    if count < 2 or not len(knots):
        return torch.ones(len(cells), 1).double(), torch.zeros(0, 1).double()
    if len(knots) > count:
        knots = cells[~missing].quantile(torch.linspace(0, 1, count).double()).unique()
    place = cells.nan_to_num(nan=knots[0].item())
    right = torch.searchsorted(knots, place).clamp(max=len(knots) - 1)
    left = (right - 1).clamp(min=0)
    share = (knots[right] - place) / (knots[right] - knots[left]).clamp(min=torch.finfo(torch.double).tiny)
    basis = torch.zeros(len(cells), len(knots) + 1).double()
    basis.scatter_add_(1, left[:, None], share[:, None]).scatter_add_(1, right[:, None], 1 - share[:, None])
    basis[missing] = torch.eye(len(knots) + 1).double()[-1]
    steps = torch.eye(len(knots) + 1).double().diff(dim=0)
    return basis, torch.cat([steps[:-1].diff(dim=0), steps[-1:]])


def _effects(
    predictor: Predictor,
    row: Float[Tensor, " cell"],
    output: int,
    background: Float[Tensor, "order cell"],
    replaced: Bool[Tensor, "order way step cell"],
    ranks: Int[Tensor, "order way column"],
    fit: Fit,
) -> tuple[Tensor, Tensor, Tensor]:
    rows = torch.where(replaced, row, background[:, None, None])
    predicted = predictor.predict(rows.flatten(0, 2))[:, output].double().unflatten(0, rows.shape[:3])
    changes = predicted.diff(dim=2).gather(2, ranks).mean(1)  # by each column, in each order
    effects = fit.effects(changes)
    # The mean prediction of background rows would miss what their weights correct.
    return predicted[0, 0, -1] - effects.sum(), effects, fit.standard_errors(changes)
