"""A small family whose structure is known: pairs of residues that touch keep opposite letters."""

from pathlib import Path

import numpy as np
import torch

from regard.data.alignments.alignment import Alignment
from regard.data.alignments.alphabet import PROTEIN, RNA, Alphabet
from regard.data.alignments.formats import read_alignment
from regard.data.alignments.invented import invent

LENGTH, SEQUENCES = 34, 60


def positions(length: int = LENGTH) -> torch.Tensor:
    """A chain that turns back on itself: residue i touches length - 1 - i."""
    x = torch.arange(length)
    half = length // 2
    return torch.stack([torch.where(x < half, x, length - 1 - x) * 3.5, (x >= half) * 6.0, x * 0.0], 1)


def hairpin() -> torch.Tensor:
    return torch.cdist(positions(), positions())


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


NAMES = "ALA CYS ASP GLU PHE GLY HIS ILE LYS LEU MET ASN PRO GLN ARG SER THR VAL TRP TYR"
THREE = dict(zip(PROTEIN.letters, NAMES.split(), strict=True))  # letters


def atom(number: int, name: str, residue: str, place: int, position: tuple[float, float, float]) -> str:
    """A line of a PDB file."""
    x, y, z = position
    place_and_position = f"{place:>4}    {x:8.3f}{y:8.3f}{z:8.3f}"
    return f"ATOM  {number:>5} {name:<4} {residue} A{place_and_position}  1.00  0.00           C\n"


def write_structure(path: Path, alignment: Path) -> None:
    """The structure that a family was invented from."""
    letters = read_alignment(alignment).query
    lines = []
    for place, (letter, (x, y, z)) in enumerate(zip(letters, positions().tolist(), strict=True), 1):
        lines.append(atom(2 * place, " CA ", THREE[letter], place, (x, y, z - 1.5)))
        lines.append(atom(2 * place + 1, " CB ", THREE[letter], place, (x, y, z)))
    path.write_text("".join(lines) + "END\n")
