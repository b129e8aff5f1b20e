"""Alphabets of proteins and RNA: letters, what they become as tokens of one vocabulary, and their properties.

Properties of amino acids are hydropathy (Kyte & Doolittle, 1982), charge, the volume of the side chain (Zamyatnin,
1972) and the propensity for strands (Chou & Fasman, 1978); a nucleotide's are which one it is.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

Molecule = Literal["protein", "rna"]

TOKENS = 26  # 20 amino acids, the gap, 4 nucleotides, the mask
GAP, MASK = 20, 25

#       hydropathy, charge, volume in cubic ångström, propensity for strands
AMINO_ACIDS = {
    "A": (1.8, 0, 88.6, 0.83), "C": (2.5, 0, 108.5, 1.19), "D": (-3.5, -1, 111.1, 0.54), "E": (-3.5, -1, 138.4, 0.37),
    "F": (2.8, 0, 189.9, 1.38), "G": (-0.4, 0, 60.1, 0.75), "H": (-3.2, 0.1, 153.2, 0.87), "I": (4.5, 0, 166.7, 1.60),
    "K": (-3.9, 1, 168.6, 0.74), "L": (3.8, 0, 166.7, 1.30), "M": (1.9, 0, 162.9, 1.05), "N": (-3.5, 0, 114.1, 0.89),
    "P": (-1.6, 0, 112.7, 0.55), "Q": (-3.5, 0, 143.8, 1.10), "R": (-4.5, 1, 173.4, 0.93), "S": (-0.8, 0, 89.0, 0.75),
    "T": (-0.7, 0, 116.1, 1.19), "V": (4.2, 0, 140.0, 1.70), "W": (-0.9, 0, 227.8, 1.37), "Y": (-1.3, 0, 193.6, 1.47),
}  # fmt: skip
NUCLEOTIDES = "ACGU"


@dataclass(frozen=True)
class Alphabet:
    """`letters` without the gap, which comes last; `ambiguous` letters are read as gaps."""

    molecule: Molecule
    letters: str
    ambiguous: str
    first_token: int
    contact: float  # ångström: residues nearer than this touch
    separation: int  # the least |i - j| of pairs that are predicted

    @property
    def size(self) -> int:
        """With the gap."""
        return len(self.letters) + 1

    @cached_property
    def tokens(self) -> Int[Tensor, " letter"]:
        """The token of each letter, the gap last."""
        return torch.tensor([*range(self.first_token, self.first_token + len(self.letters)), GAP])

    @cached_property
    def properties(self) -> Float[Tensor, "letter property"]:
        """Four properties of each letter, standardised over the alphabet."""
        if self.molecule == "rna":
            return torch.eye(len(self.letters))
        table = torch.tensor([AMINO_ACIDS[letter] for letter in self.letters])
        return (table - table.mean(0)) / table.std(0)


# Contacts as CASP counts them (C-beta), and for RNA as Zerihun et al. (2021) do (any two heavy atoms).
PROTEIN = Alphabet("protein", "".join(AMINO_ACIDS), "XBZJOU", 0, contact=8.0, separation=6)
RNA = Alphabet("rna", NUCLEOTIDES, "NRYSWKMBDHVX", GAP + 1, contact=10.0, separation=5)
ALPHABETS: dict[Molecule, Alphabet] = {"protein": PROTEIN, "rna": RNA}
