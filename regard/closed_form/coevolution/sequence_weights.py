"""Sequence weights: sequences of a family that are much alike share one vote (Morcos et al., 2011)."""

import torch
from jaxtyping import Float, Integer
from torch import Tensor

IDENTITY = 0.8  # fraction of equal letters from which on two sequences are alike
ROWS = 512  # sequences that are compared with all others at a time
COLUMNS = 512  # of a longer alignment, so many evenly spaced columns are compared


def sequence_weights(
    letters: Integer[Tensor, "sequence residue"], identity: float = IDENTITY
) -> Float[Tensor, " sequence"]:
    """One over the number of sequences that are alike; their sum is the effective number of sequences."""
    length = letters.shape[1]
    if length > COLUMNS:
        letters = letters[:, torch.linspace(0, length - 1, COLUMNS).round().long()]
        length = COLUMNS
    values = letters.unique().tolist()
    alike = torch.empty(len(letters))
    for start in range(0, len(letters), ROWS):
        some = letters[start : start + ROWS]
        equal = torch.zeros(len(some), len(letters))
        for value in values:  # one letter at a time: the one-hot alignment of a long family would not fit into memory
            equal += (some == value).float() @ (letters == value).float().T
        alike[start : start + ROWS] = (equal >= identity * length - 1e-3).sum(1)
    return 1 / alike
