"""What the Evoformer reads of an alignment: letters of some sequences, and statistics of all of them."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.closed_form.coevolution import (
    Frequencies,
    PairStatistics,
    frequencies,
    pair_statistics,
    sequence_weights,
)
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


def encode_alignment(alignment: Alignment) -> AlignmentInputs:
    return encode_with_scores(alignment)[0]


def encode_with_scores(alignment: Alignment) -> tuple[AlignmentInputs, PairStatistics]:
    """The inputs, and the classical scores of pairs that are among them."""
    counted, alphabet = count(alignment), alignment.alphabet
    profile = torch.zeros(alignment.length, TOKENS)
    profile[:, alphabet.tokens] = counted.single
    statistics = pair_statistics(counted, alphabet.properties)
    letters = alphabet.tokens[alignment.letters.long()]
    return AlignmentInputs(letters, profile, statistics.features), statistics
