"""Co-evolution in closed form: which columns of an alignment vary together.

sequence_weights     similar sequences share one vote
frequencies          weighted frequencies of letters and of pairs of letters
mutual_information   with the average product correction
mean_field           mean-field direct coupling analysis
pair_features        what the Evoformer reads of each pair of residues
"""

from regard.closed_form.coevolution.frequencies import Frequencies, frequencies
from regard.closed_form.coevolution.mean_field import mean_field
from regard.closed_form.coevolution.mutual_information import mutual_information
from regard.closed_form.coevolution.pair_features import PAIR_FEATURES, PairStatistics, pair_features, pair_statistics
from regard.closed_form.coevolution.sequence_weights import sequence_weights

__all__ = [
    "PAIR_FEATURES",
    "Frequencies",
    "PairStatistics",
    "frequencies",
    "mean_field",
    "mutual_information",
    "pair_features",
    "pair_statistics",
    "sequence_weights",
]
