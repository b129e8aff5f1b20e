"""What the Evoformer reads of each pair of residues: the classical scores, so that it starts where they end.

The features are mutual information and couplings, their components along properties of the letters (opposite charges
attract, large side chains need small neighbours), and how often both residues are gaps. Each is standardised over the
pairs of the alignment.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from regard.closed_form.coevolution.frequencies import Frequencies
from regard.closed_form.coevolution.mean_field import couplings, strength
from regard.closed_form.coevolution.mutual_information import mutual_information

PROPERTIES = 4  # of a letter
COMPONENTS = PROPERTIES * (PROPERTIES + 1) // 2
PAIR_FEATURES = 3 + 2 * COMPONENTS + 1 + 2
CLIP = 8.0  # standard deviations
WEAK = 0.1  # pseudocount of a second set of couplings, which trusts rare letters more


@dataclass(frozen=True)
class PairStatistics:
    """The features with the classical scores among them, as they were before they were standardised."""

    features: Float[Tensor, "residue residue feature"]
    mutual_information: Float[Tensor, "residue residue"]
    mean_field: Float[Tensor, "residue residue"]


def pair_features(
    counted: Frequencies, properties: Float[Tensor, "letter property"]
) -> Float[Tensor, "residue residue feature"]:
    """`properties` has a row for each letter but the gap."""
    return pair_statistics(counted, properties).features


def pair_statistics(counted: Frequencies, properties: Float[Tensor, "letter property"]) -> PairStatistics:
    coupled = couplings(counted)
    covariance = counted.covariance()
    scores = [mutual_information(counted), strength(coupled), strength(couplings(counted, WEAK))]
    gaps = covariance[:, -1, :, -1]
    local = torch.stack([*scores, *_components(coupled, properties), *_components(covariance, properties), gaps])
    size = torch.tensor([counted.effective, counted.residues]).log()  # the same for every pair
    constant = (size / 5 - 1)[:, None, None].expand(-1, counted.residues, counted.residues)
    features = torch.cat([_standardised(local), constant]).permute(1, 2, 0)
    return PairStatistics(features, *scores[:2])


def _components(block: Tensor, properties: Tensor) -> list[Tensor]:
    """The part of each pair's block along each pair of properties."""
    along = torch.einsum("iajb,ap,bq->pqij", block[:, :-1, :, :-1], properties, properties)
    along = (along + along.transpose(0, 1)) / 2
    return [along[p, q] for p in range(PROPERTIES) for q in range(p, PROPERTIES)]


def _standardised(features: Float[Tensor, "feature residue residue"]) -> Tensor:
    """Mean 0 and deviation 1 over pairs of different residues; a residue with itself has 0."""
    residues = features.shape[1]
    apart = ~torch.eye(residues, dtype=torch.bool)
    values = features[:, apart]
    mean, spread = values.mean(1), values.std(1).clamp(min=1e-8)
    scaled = (features - mean[:, None, None]) / spread[:, None, None]
    return (scaled * apart).clamp(-CLIP, CLIP)
