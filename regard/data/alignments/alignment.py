"""An alignment: sequences of a family, one column for each residue of the first."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import UInt8
from torch import Tensor

from regard.core.errors import UserError
from regard.core.machine import seed_for
from regard.data.alignments.alphabet import PROTEIN, RNA, Alphabet, Molecule

GAPS = "-.*"  # a star is the end of a translated gene
SHARE = 0.95  # of the letters are nucleotides: then it is RNA (or DNA, read as RNA)


class OneSequenceError(UserError):
    """A family of one sequence does not show what varies together."""


@dataclass(frozen=True)
class Alignment:
    """`letters` are numbers of the alphabet, the gap being the last; the first sequence has no gaps."""

    name: str
    alphabet: Alphabet
    letters: UInt8[Tensor, "sequence residue"]
    labels: tuple[str, ...] = ()  # of the sequences, as the file names them

    @property
    def sequences(self) -> int:
        return self.letters.shape[0]

    @property
    def length(self) -> int:
        return self.letters.shape[1]

    @property
    def query(self) -> str:
        """The first sequence."""
        return "".join(self.alphabet.letters[letter] for letter in self.letters[0].tolist())

    def label(self, sequence: int) -> str:
        return self.labels[sequence] if self.labels else f"sequence {sequence + 1}"

    def sample(self, count: int, *words: object) -> "Alignment":
        """The first sequence and `count` - 1 others, drawn by a generator that `words` seed; all if there are fewer."""
        if self.sequences <= count:
            return self
        generator = torch.Generator().manual_seed(seed_for("sequences", *words))
        others = 1 + torch.randperm(self.sequences - 1, generator=generator)[: count - 1]
        chosen = torch.cat([torch.zeros(1, dtype=torch.long), others])
        labels = tuple(self.labels[one] for one in chosen.tolist()) if self.labels else ()
        return replace(self, letters=self.letters[chosen], labels=labels)

    def columns(self, chosen: Tensor) -> "Alignment":
        return replace(self, letters=self.letters[:, chosen])


def encode(name: str, rows: Sequence[tuple[str, str]], molecule: Molecule | None = None) -> Alignment:
    """Rows of (label, aligned letters) as an alignment; columns where the first has a gap are dropped."""
    if len(rows) < 2:
        raise OneSequenceError(
            f"{name}: has {len(rows)} sequence{'s' * (len(rows) != 1)}; contacts need a family of them: search for "
            "relatives, for example with HHblits or jackhmmer"
        )
    length = len(rows[0][1])
    for label, row in rows:
        if len(row) != length:
            raise UserError(
                f"{name}: sequence {label!r} has {len(row):,} columns, the first {length:,}; is it aligned? MAFFT "
                "and Clustal Omega align sequences"
            )
    text = np.frombuffer("".join(row for _, row in rows).upper().encode("latin-1", "replace"), np.uint8)
    table = text.reshape(len(rows), length)
    column = np.flatnonzero(~np.isin(table[0], _codes(GAPS)))  # of each residue
    table = table[:, column]
    if table.shape[1] < 3:
        residues = f"{table.shape[1]} residue{'s' * (table.shape[1] != 1)}"
        raise UserError(f"{name}: the first sequence has {residues}; at least 3 are needed")
    alphabet = _alphabet(table, molecule)
    letters = _numbers(alphabet)[table]
    if (unknown := np.argwhere(letters == UNKNOWN)).size:
        row, residue = unknown[0]
        letter, label = chr(table[row, residue]), rows[row][0]
        raise UserError(
            f"{name}: sequence {label!r} has {letter!r} in column {column[residue] + 1:,}, which is no letter of "
            f"{alphabet.molecule}; write - for a gap and {UNKNOWN_LETTER[alphabet.molecule]} for an unknown residue"
        )
    if (letters[0] == alphabet.size - 1).any():
        residue = int((letters[0] == alphabet.size - 1).argmax())
        raise UserError(
            f"{name}: residue {residue + 1:,} of the first sequence is {chr(table[0, residue])!r}: unknown; put its "
            "letter there, or a sequence without unknown residues first"
        )
    return Alignment(name, alphabet, torch.from_numpy(letters.astype(np.uint8)), tuple(label for label, _ in rows))


UNKNOWN_LETTER = {"protein": "X", "rna": "N"}
UNKNOWN = 255


def _codes(letters: str) -> list[int]:
    return [ord(letter) for letter in letters]


def _alphabet(table: np.ndarray, molecule: Molecule | None) -> Alphabet:
    if molecule is not None:
        return {"protein": PROTEIN, "rna": RNA}[molecule]
    letters = table[~np.isin(table, _codes(GAPS))]
    nucleotides = np.isin(letters, _codes("ACGUTN")).mean()
    return RNA if nucleotides >= SHARE else PROTEIN


def _numbers(alphabet: Alphabet) -> np.ndarray:
    """The number of each character."""
    numbers = np.full(256, UNKNOWN, np.int64)
    numbers[_codes(GAPS + alphabet.ambiguous)] = alphabet.size - 1
    for number, letter in enumerate(alphabet.letters):
        numbers[ord(letter)] = number
    if alphabet is RNA:
        numbers[ord("T")] = numbers[ord("U")]
    return numbers
