"""Weights of predictors that are averaged, by their loss on rows that they were not trained on."""

import itertools
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from regard.tables.encode.table import EncodedTable
from regard.tables.predictor import held_out_loss

STEPS = 20  # of the search
LEAST = 0.1  # weight: with less, a predictor costs more time than it gains
TOLERANCE = 1.003  # of the least loss: within it the more even weights are safer


def best_weights(predictions: Sequence[Float[Tensor, "row prediction"]], rows: EncodedTable) -> list[float]:
    """Weights that sum to one: those with the least loss on these rows or, of nearly equal ones, the most even."""
    columns = slice(None) if rows.classes else slice(1)  # of a number, its mean
    stacked = torch.stack([each[:, columns].double() for each in predictions], -1)
    parts = itertools.product(range(STEPS + 1), repeat=len(predictions))
    grid = [tuple(part / STEPS for part in each) for each in parts if sum(each) == STEPS]
    losses = {
        weights: held_out_loss(stacked @ torch.tensor(weights, dtype=torch.double), rows)
        for weights in grid
        if all(not 0 < weight < LEAST for weight in weights)
    }
    good = [weights for weights in losses if losses[weights] <= TOLERANCE * min(losses.values())]
    return list(min(good, key=lambda weights: sum(weight * weight for weight in weights)))
