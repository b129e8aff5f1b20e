"""Precision of the highest scored pairs, as contact predictions are compared (CASP)."""

from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor

from regard.data.alignments.alphabet import Alphabet

LONG_RANGE = 24  # |i - j| of a protein from which on a contact tells the fold
FEW = 64  # sequences of an alignment: below, precision falls
FRACTIONS = {"L/5": 5, "L/2": 2, "L": 1}


def precision(
    score: Float[Tensor, "residue residue"], distance: Float[Tensor, "residue residue"], alphabet: Alphabet
) -> Mapping[str, float]:
    """Of the L/5, L/2 and L highest scored pairs, the fraction that touch; unknown pairs do not count."""
    least = LONG_RANGE if alphabet.molecule == "protein" else alphabet.separation
    i, j = torch.triu_indices(len(score), len(score), least)
    known = ~distance[i, j].isnan()
    i, j = i[known], j[known]
    if not len(i):
        return {}
    best = score[i, j].argsort(descending=True, stable=True)
    touching = (distance[i, j] < alphabet.contact)[best].float()
    return {name: float(touching[: max(1, round(len(score) / part))].mean()) for name, part in FRACTIONS.items()}
