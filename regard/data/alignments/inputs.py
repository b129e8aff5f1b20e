"""What the Evoformer reads of an alignment: letters of some sequences, and statistics of all of them."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.closed_form.coevolution import Frequencies, frequencies, pair_features, sequence_weights
from regard.data.alignments.alignment import Alignment
from regard.data.alignments.alphabet import TOKENS

MAX_SEQUENCES = 5000  # that statistics are taken of: more change little and cost time


@dataclass(frozen=True)
class AlignmentInputs:
    letters: Int[Tensor, "sequence residue"]  # tokens
    profile: Float[Tensor, "residue token"]
    features: Float[Tensor, "residue residue feature"]


def count(alignment: Alignment) -> Frequencies:
    """Frequencies of letters and pairs of letters over the whole alignment, weighted by sequence identity."""
    return frequencies(alignment.letters, sequence_weights(alignment.letters), alignment.alphabet.size)


def encode_alignment(alignment: Alignment, statistics: Frequencies | None = None) -> AlignmentInputs:
    statistics = statistics or count(alignment)
    alphabet = alignment.alphabet
    profile = torch.zeros(alignment.length, TOKENS)
    profile[:, alphabet.tokens] = statistics.single
    return AlignmentInputs(
        alphabet.tokens[alignment.letters.long()], profile, pair_features(statistics, alphabet.properties)
    )
