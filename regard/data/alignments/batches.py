"""Batches of families: crops of a few residues and sequences, with some letters masked."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.core.machine import seed_for
from regard.data.alignments.alphabet import MASK
from regard.data.alignments.examples import Example, Examples
from regard.data.batch import TensorBatch

EDGES = (6.0, 8.0, 10.0, 12.0, 14.0, 17.0, 20.0)  # ångström between the bins of the distance
IGNORED = -100


@dataclass(frozen=True)
class Crop(TensorBatch):
    """A stretch of one family, as a batch of 1."""

    letters: Int[Tensor, "1 sequence residue"]
    profile: Float[Tensor, "1 residue token"]
    features: Float[Tensor, "1 residue residue feature"]
    bin: Int[Tensor, "1 residue residue"]  # of the distance; IGNORED where it is unknown, or the pair too near
    masked: Int[Tensor, "1 sequence residue"]  # the letter of a masked cell; IGNORED elsewhere
    near: int  # bins of the distance that are a contact


@dataclass(frozen=True)
class FamilyBatch:
    """Families differ in length, and are read one after the other."""

    crops: tuple[Crop, ...]

    @property
    def rows(self) -> int:
        return len(self.crops)

    @property
    def size(self) -> int:
        return sum(crop.letters.numel() for crop in self.crops)

    def shard(self, index: int, count: int) -> "FamilyBatch":
        return FamilyBatch(self.crops[index::count])

    def to(self, device: str) -> "FamilyBatch":
        return FamilyBatch(tuple(crop.to(device) for crop in self.crops))


def distance_bins(distance: Tensor, separation: int) -> Int[Tensor, "residue residue"]:
    """The bin of each pair, counted once: j > i, at least `separation` apart."""
    index = torch.arange(len(distance))
    bins = torch.bucketize(distance.float().nan_to_num(0), torch.tensor(EDGES), right=True)
    counted = (index[None, :] - index[:, None] >= separation) & ~distance.isnan()
    return bins.masked_fill(~counted, IGNORED)


class FamilyBatches:
    fixed_shape = False

    def __init__(self, examples: Examples, batch_size: int, seed: int = 0):
        self.examples, self.batch_size, self.seed = examples, batch_size, seed

    @property
    def steps_per_epoch(self) -> int:
        return max(1, len(self.examples) // self.batch_size)

    def batch(self, step: int) -> FamilyBatch:
        generator = torch.Generator().manual_seed(seed_for("families", self.seed, step))
        chosen = [self.examples.choose(generator) for _ in range(self.batch_size)]
        return FamilyBatch(tuple(self._crop(one, self.examples.data.crop, generator) for one in chosen))

    def once(self) -> Iterator[FamilyBatch]:
        for number in range(len(self.examples)):
            generator = torch.Generator().manual_seed(seed_for("families", number))
            example = self.examples.get(number, 0)
            yield FamilyBatch((self._crop(example, self.examples.data.max_length, generator, either_way=False),))

    def _crop(self, example: Example, residues: int, generator: torch.Generator, either_way: bool = True) -> Crop:
        """A stretch of the chain, half of the time in reverse, and a sample of the sequences."""
        inputs, data = example.inputs, self.examples.data
        length = inputs.letters.shape[1]
        start = int(torch.randint(max(1, length - residues + 1), (), generator=generator))
        some = torch.arange(start, min(length, start + residues))
        if either_way and torch.rand((), generator=generator) < 0.5:
            some = some.flip(0)
        letters = inputs.letters[sample_rows(len(inputs.letters), data.sequences, generator)][:, some]
        hidden = torch.rand(letters.shape, generator=generator) < data.masked
        bins = distance_bins(example.distance[some][:, some], example.separation)
        return Crop(
            letters=letters.masked_fill(hidden, MASK)[None],
            profile=inputs.profile[some][None],
            features=inputs.features[some][:, some].float()[None],
            bin=bins[None],
            masked=letters.masked_fill(~hidden, IGNORED)[None],
            near=EDGES.index(example.contact) + 1,
        )


def sample_rows(count: int, sequences: int, generator: torch.Generator) -> Int[Tensor, " sequence"]:
    """The first sequence and some others."""
    others = 1 + torch.randperm(count - 1, generator=generator)[: sequences - 1]
    return torch.cat([torch.zeros(1, dtype=torch.long), others])
