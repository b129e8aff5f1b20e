"""Examples to train on: real families, samples of their sequences, and families invented from their structures.

Each is a function of the seed, the family and a number, and is computed when it is first needed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from regard.core.errors import ConfigError, at_least
from regard.core.machine import seed_for
from regard.data.alignments.families import Family
from regard.data.alignments.inputs import MAX_SEQUENCES, AlignmentInputs, encode_alignment
from regard.data.alignments.invented import invent

SAMPLES = 2  # of the sequences of a real family: all of them, and fewer


@dataclass(frozen=True)
class AlignmentFamilies:
    """Files and folders of alignments, each with a structure of the same name beside it."""

    train: tuple[str, ...]
    valid: tuple[str, ...] = ()  # none: all families are trained on, and the last weights are taken
    invented: float = 0.5  # fraction of the examples
    copies: int = 2  # families invented from each structure
    rna: float = 0.2  # fraction of the examples, where there are both RNA and proteins
    max_length: int = 192  # residues of an example, cut from a longer family
    crop: int = 64  # residues of a training step
    sequences: int = 8  # that are read letter by letter, of all that the statistics are of
    masked: float = 0.15  # fraction of the letters

    def __post_init__(self) -> None:
        at_least(1, copies=self.copies)
        at_least(2, sequences=self.sequences)
        at_least(8, max_length=self.max_length, crop=self.crop)
        for name in ("invented", "rna", "masked"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(f"{name}: must be between 0 and 1, not {getattr(self, name)}")


@dataclass(frozen=True)
class Example:
    inputs: AlignmentInputs
    distance: Tensor  # half precision, NaN where it is unknown
    contact: float  # ångström
    separation: int


class Examples:
    """Examples by family and number: the first `SAMPLES` of a family are real, the others invented."""

    def __init__(self, families: Sequence[Family], data: AlignmentFamilies, seed: int = 0):
        self.families, self.data, self.seed = families, data, seed
        self._rna = [number for number, one in enumerate(families) if one.alignment.alphabet.molecule == "rna"]
        self._proteins = [number for number in range(len(families)) if number not in set(self._rna)]
        self._made: dict[tuple[int, int], Example] = {}

    def __len__(self) -> int:
        return len(self.families)

    def choose(self, generator: torch.Generator) -> Example:
        rna = float(torch.rand((), generator=generator)) < self.data.rna
        some = (self._rna if rna else self._proteins) or self._proteins or self._rna
        family = some[int(torch.randint(len(some), (), generator=generator))]
        if float(torch.rand((), generator=generator)) < self.data.invented:
            return self.get(family, SAMPLES + int(torch.randint(self.data.copies, (), generator=generator)))
        return self.get(family, int(torch.randint(SAMPLES, (), generator=generator)))

    def get(self, family: int, number: int) -> Example:
        key = family, number
        if key not in self._made:
            self._made[key] = self._make(self.families[family], number)
        return self._made[key]

    def _make(self, family: Family, number: int) -> Example:
        seed = (self.seed, family.name, number)
        generator = torch.Generator().manual_seed(seed_for("example", *seed))
        family = _cut(family, self.data.max_length, generator)
        alignment, alphabet = family.alignment, family.alignment.alphabet
        ratio = float(torch.rand((), generator=generator))
        if number >= SAMPLES:
            count = int(64 * 16**ratio)
            alignment = invent(family.name, alphabet, family.distance, count, generator)
        elif number:  # from 48 to all, evenly in the logarithm
            least = min(48, alignment.sequences)
            alignment = alignment.sample(int(least * (alignment.sequences / least) ** ratio), *seed)
        inputs = encode_alignment(alignment.sample(MAX_SEQUENCES, *seed))
        inputs = replace(inputs, letters=inputs.letters[:512], features=inputs.features.half())
        return Example(inputs, family.distance.half(), alphabet.contact, alphabet.separation)


def _cut(family: Family, max_length: int, generator: torch.Generator) -> Family:
    length = family.alignment.length
    if length <= max_length:
        return family
    start = int(torch.randint(length - max_length + 1, (), generator=generator))
    chosen = torch.arange(start, start + max_length)
    return Family(family.alignment.columns(chosen), family.distance[chosen][:, chosen])
