"""Invented families: sequences evolved along a random tree, with couplings between residues that touch.

The residues that touch are those of a real structure; everything else is drawn. Sequences that descend from each other
are alike for that reason alone, which is where methods that count co-variation fail.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor

from regard.data.alignments.alignment import Alignment
from regard.data.alignments.alphabet import Alphabet

LOCAL = 2  # |i - j| from which on residues that touch may be coupled
PAIRED = 4  # |i - j| above which nucleotides may be base pairs
BURN_IN = 20  # updates of each residue before the tree begins
BONDS = torch.tensor([[-1.0, -1, -1, 1], [-1, -1, 1, -1], [-1, 1, -1, 0.3], [1, -1, 0.3, -1]])  # of A, C, G, U


@dataclass(frozen=True)
class Potts:
    """Fields of each residue, and couplings with the residues that it touches."""

    field: Float[Tensor, "residue letter"]
    neighbour: Int[Tensor, "residue neighbour"]
    coupling: Float[Tensor, "residue neighbour letter_there letter"]

    def update(self, sequences: Int[Tensor, "sequence residue"], moved: Tensor, generator: Generator) -> None:
        """Draw one residue of each sequence that is `moved` anew, given the others (Gibbs sampling), in place."""
        rows = moved.nonzero()[:, 0]
        site = torch.randint(sequences.shape[1], (len(rows),), generator=generator)
        near = self.neighbour[site]
        there = sequences[rows[:, None], near]
        steps = torch.arange(near.shape[1])
        scores = self.field[site] + self.coupling[site[:, None], steps, there].sum(1)
        noise = -torch.rand(scores.shape, generator=generator).clamp(min=1e-9).log()
        sequences[rows, site] = (scores - noise.log()).argmax(1)  # Gumbel's way to draw from a softmax


def invent(
    name: str,
    alphabet: Alphabet,
    distance: Float[Tensor, "residue residue"],
    sequences: int,
    generator: Generator,
) -> Alignment:
    """An alignment of a family that might have this structure."""
    model = draw_potts(alphabet, distance, generator)
    letters, gaps = _evolve(model, sequences, generator)
    letters[gaps] = alphabet.size - 1
    return Alignment(name, alphabet, letters.to(torch.uint8))


def draw_potts(alphabet: Alphabet, distance: Float[Tensor, "residue residue"], generator: Generator) -> Potts:
    touching = distance < alphabet.contact
    length, letters = len(touching), len(alphabet.letters)
    apart = (torch.arange(length)[:, None] - torch.arange(length)).abs()
    coupled = touching & (apart >= LOCAL)
    if alphabet.molecule == "rna":
        coupled = _base_pairs(distance, apart)
    some = torch.rand(length, length, generator=generator).triu(1)
    coupled = coupled & ((some + some.T) > _uniform(generator, 0.1, 0.4))  # not all that touch depend on each other
    degree = max(1, int(coupled.sum(1).max()))
    neighbour = coupled.int().argsort(dim=1, descending=True, stable=True)[:, :degree]
    block = _blocks(alphabet, length, generator)
    strength = _strengths(length, generator) * coupled
    rows = torch.arange(length)[:, None]
    coupling = block(rows, neighbour) * strength[rows, neighbour][..., None, None]
    buried = (touching & (apart >= alphabet.separation)).sum(1).float()
    buried = (buried - buried.mean()) / buried.std().clamp(min=1e-3)
    field = torch.randn(length, letters, generator=generator) * _uniform(generator, 0.4, 1.2)
    if alphabet.molecule == "protein":  # the core is hydrophobic
        field += _uniform(generator, 0.2, 0.8) * buried[:, None] * alphabet.properties[:, 0]
    return Potts(field, neighbour, coupling)


def _blocks(alphabet: Alphabet, length: int, generator: Generator) -> Callable[[Tensor, Tensor], Tensor]:
    """What each coupling prefers: partly chemistry, the same for all, and partly chance."""
    letters = len(alphabet.letters)
    if alphabet.molecule == "rna":
        chemistry, share = BONDS, 0.9
    else:
        hydropathy, charge, volume, strand = (alphabet.properties[:, number] for number in range(4))
        outer = [torch.outer(one, one) for one in (hydropathy, charge, volume, strand)]
        chemistry, share = 0.5 * outer[0] - 0.6 * outer[1] - 0.4 * outer[2] + 0.3 * outer[3], _uniform(generator, 0, 1)
    chance = torch.randn(length, length, letters, letters, generator=generator)
    upper = torch.ones(length, length, dtype=torch.bool).triu()[..., None, None]
    chance = torch.where(upper, chance, chance.permute(1, 0, 3, 2))

    def block(one: Tensor, other: Tensor) -> Tensor:
        return share * chemistry + (1 - share) * chance[one, other].mT  # letter there first

    return block


def _strengths(length: int, generator: Generator) -> Tensor:
    log_normal = (torch.randn(length, length, generator=generator) * 0.5).exp().triu()
    return (log_normal + log_normal.T) * _uniform(generator, 0.4, 1.2)


def _base_pairs(distance: Tensor, apart: Tensor) -> Tensor:
    """The nearest partners, each nucleotide in one pair at most."""
    far = distance.nan_to_num(torch.inf).masked_fill(apart <= PAIRED, torch.inf)
    pairs, nearest = torch.zeros_like(apart, dtype=torch.bool), far.argmin(1)
    here = torch.arange(len(far))
    mutual = (nearest[nearest] == here) & (far[here, nearest] < 5.0)
    pairs[here[mutual], nearest[mutual]] = True
    return pairs | pairs.T


def _evolve(model: Potts, sequences: int, generator: Generator) -> tuple[Tensor, Tensor]:
    """Sequences and their gaps. At each level of the tree every sequence has descendants, some more than others."""
    length, letters = model.field.shape
    leaves = torch.randint(letters, (1, length), generator=generator)
    for _ in range(BURN_IN * length):
        model.update(leaves, torch.ones(1, dtype=torch.bool), generator)
    gaps = torch.zeros(1, length, dtype=torch.bool)
    levels = max(1, (sequences - 1).bit_length())
    updates = int(length * _uniform(generator, 1.0, 5.0))  # between the root and a leaf
    shares = torch.rand(levels, generator=generator) + torch.linspace(0.2, 1.0, levels)
    for share in (shares / shares.sum()).tolist():
        count = min(2 * len(leaves), sequences)
        parent = torch.randint(len(leaves), (count,), generator=generator)
        leaves, gaps = leaves[parent], gaps[parent]
        rate = torch.rand(count, generator=generator) * 2
        for _ in range(max(1, int(share * updates))):
            model.update(leaves, torch.rand(count, generator=generator) < rate, generator)
        _delete(gaps, generator)
    gaps[0] = False
    return leaves, gaps


def _delete(gaps: Tensor, generator: Generator) -> None:
    """Some sequences lose a stretch of residues, more often at the ends, and so do their descendants."""
    count, length = gaps.shape
    losing = (torch.rand(count, generator=generator) < 0.12).nonzero()[:, 0]
    size = torch.randint(1, max(2, length // 5), (len(losing),), generator=generator)
    start = torch.randint(-length // 6, length, (len(losing),), generator=generator)
    place = torch.arange(length)
    gaps[losing] |= (place >= start[:, None]) & (place < (start + size)[:, None])


def _uniform(generator: Generator, low: float, high: float) -> float:
    return low + (high - low) * float(torch.rand((), generator=generator))
