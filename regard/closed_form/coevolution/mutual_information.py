"""Mutual information of columns, with the average product correction (Dunn et al., 2008).

Columns that vary much share information with all others, and so do all columns of related sequences. The correction
subtracts what two columns share on average with the rest.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from regard.closed_form.coevolution.frequencies import Frequencies

SMALLEST = 1e-12  # frequency, whose logarithm is taken


def mutual_information(counted: Frequencies) -> Float[Tensor, "residue residue"]:
    """A score for each pair of residues: the larger, the more they vary together."""
    mixed = counted.with_pseudocount(1 / (1 + counted.effective / counted.letters))
    return average_product_correction(uncorrected(mixed))


def uncorrected(counted: Frequencies) -> Float[Tensor, "residue residue"]:
    """Mutual information in nats."""
    independent = counted.single[:, :, None, None] * counted.single[None, None]
    ratio = counted.pair.clamp(min=SMALLEST) / independent.clamp(min=SMALLEST)
    return (counted.pair * ratio.log()).sum((1, 3))


def average_product_correction(scores: Float[Tensor, "residue residue"]) -> Float[Tensor, "residue residue"]:
    scores = scores.clone().fill_diagonal_(0)
    mean = scores.sum(0) / max(1, len(scores) - 1)
    corrected = scores - mean[:, None] * mean / mean.mean().clamp(min=torch.finfo(scores.dtype).tiny)
    return corrected.fill_diagonal_(0)
