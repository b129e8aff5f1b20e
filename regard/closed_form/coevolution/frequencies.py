"""Weighted frequencies of letters in columns and of pairs of letters in pairs of columns."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float, Integer
from torch import Tensor

ROWS = 1024  # sequences counted at a time


@dataclass(frozen=True)
class Frequencies:
    """`letters` counts the letters of the alphabet, of which the last is the gap."""

    single: Float[Tensor, "residue letter"]
    pair: Float[Tensor, "residue letter residue letter"]
    effective: float  # number of sequences

    @property
    def residues(self) -> int:
        return self.single.shape[0]

    @property
    def letters(self) -> int:
        return self.single.shape[1]

    def with_pseudocount(self, share: float) -> "Frequencies":
        """Mixed with a uniform distribution, which gets this share."""
        single = (1 - share) * self.single + share / self.letters
        pair = (1 - share) * self.pair + share / self.letters**2
        here = torch.arange(self.residues)
        pair[here, :, here, :] = torch.diag_embed(single)  # a column has one letter at a time
        return Frequencies(single, pair, self.effective)

    def covariance(self) -> Float[Tensor, "residue letter residue letter"]:
        return self.pair - self.single[:, :, None, None] * self.single[None, None]


def frequencies(
    letters: Integer[Tensor, "sequence residue"], weights: Float[Tensor, " sequence"], alphabet: int
) -> Frequencies:
    residues, total = letters.shape[1], weights.sum()
    single = torch.zeros(residues * alphabet)
    pair = torch.zeros(residues * alphabet, residues * alphabet)
    for start in range(0, len(letters), ROWS):
        one_hot = F.one_hot(letters[start : start + ROWS].long(), alphabet).float().flatten(1)
        weighted = one_hot * weights[start : start + ROWS, None]
        single += weighted.sum(0)
        pair.addmm_(weighted.T, one_hot)
    shape = (residues, alphabet)
    return Frequencies((single / total).view(shape), (pair / total).view(*shape, *shape), float(total))
