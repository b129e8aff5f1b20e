"""Mean-field direct coupling analysis: couplings are the inverse covariance (Morcos et al., 2011).

Two columns may vary together because both vary with a third. The inverse of the covariance matrix of all letters in
all columns separates direct couplings from such chains, as partial correlations do.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from regard.closed_form.coevolution.frequencies import Frequencies
from regard.closed_form.coevolution.mutual_information import average_product_correction

PSEUDOCOUNT = 0.5

Couplings = Float[Tensor, "residue letter residue letter"]


def couplings(counted: Frequencies, pseudocount: float = PSEUDOCOUNT) -> Couplings:
    """Couplings in the gauge where each block sums to zero; the block of a residue with itself is zero."""
    mixed = counted.with_pseudocount(pseudocount)
    residues, letters = mixed.residues, mixed.letters
    covariance = mixed.covariance()[:, :-1, :, :-1].reshape(residues * (letters - 1), -1)  # the gap is the reference
    inverse = torch.cholesky_inverse(torch.linalg.cholesky(covariance))  # the pseudocount makes it positive definite
    result = torch.zeros(residues, letters, residues, letters)
    result[:, :-1, :, :-1] = -inverse.view(residues, letters - 1, residues, letters - 1)
    here = torch.arange(residues)
    result[here, :, here, :] = 0
    return result - result.mean(1, keepdim=True) - result.mean(3, keepdim=True) + result.mean((1, 3), keepdim=True)


def strength(coupled: Couplings) -> Float[Tensor, "residue residue"]:
    """The Frobenius norm of the couplings between letters, without gaps, with the average product correction."""
    return average_product_correction(coupled[:, :-1, :, :-1].square().sum((1, 3)).sqrt())


def mean_field(counted: Frequencies, pseudocount: float = PSEUDOCOUNT) -> Float[Tensor, "residue residue"]:
    """A score for each pair of residues: the larger, the more directly they vary together."""
    return strength(couplings(counted, pseudocount))
