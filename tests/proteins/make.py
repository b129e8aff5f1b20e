"""A small family whose structure is known: pairs of residues that touch keep opposite letters."""

from pathlib import Path

import numpy as np
import torch

from regard.data.alignments.alignment import Alignment
from regard.data.alignments.alphabet import PROTEIN, RNA, Alphabet
from regard.data.alignments.invented import invent

LENGTH, SEQUENCES = 34, 60


def hairpin(length: int = LENGTH) -> torch.Tensor:
    """Distances of a chain that turns back on itself: residue i touches length - 1 - i."""
    x = torch.arange(length)
    half = length // 2
    place = torch.stack([torch.where(x < half, x, length - 1 - x) * 3.5, (x >= half) * 6.0, x * 0.0], 1)
    return torch.cdist(place, place)


def distances(alphabet: Alphabet) -> torch.Tensor:
    """Nearest atoms, of which the rule for RNA speaks, are nearer than C-beta atoms."""
    return hairpin() * (0.6 if alphabet is RNA else 1.0)


def family(alphabet: Alphabet = PROTEIN, sequences: int = SEQUENCES, seed: int = 0) -> Alignment:
    return invent("invented", alphabet, distances(alphabet), sequences, torch.Generator().manual_seed(seed))


def rows_of(alignment: Alignment) -> list[str]:
    letters = alignment.alphabet.letters + "-"
    return ["".join(letters[number] for number in row) for row in alignment.letters.tolist()]


def write_family(folder: Path, name: str, alphabet: Alphabet = PROTEIN, seed: int = 0) -> Path:
    """An alignment and its distances, as the data of `regard pretrain contacts`."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.a3m"
    rows = rows_of(family(alphabet, seed=seed))
    path.write_text("".join(f">s{number}\n{row}\n" for number, row in enumerate(rows)))
    np.savez(folder / f"{name}.npz", distance=distances(alphabet).numpy().astype(np.float16))
    return path


def write_families(folder: Path) -> Path:
    for seed, name in enumerate(("one", "two")):
        write_family(folder, name, seed=seed)
    write_family(folder, "three", RNA, seed=2)
    return folder
