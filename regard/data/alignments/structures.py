"""Which residues touch in a known structure: PDB and mmCIF, read by gemmi; or distances in .npz.

Gemmi is one compiled wheel without dependencies and reads both formats, also compressed. Proteins are measured between
C-beta atoms (C-alpha of glycine), RNA between the nearest heavy atoms.
"""

import io
import re
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from regard.core.errors import UserError, one_line
from regard.core.extras import require
from regard.data.alignments.alignment import Alignment
from regard.data.alignments.alphabet import Alphabet
from regard.data.decompress import open_decompressed

SUFFIXES = (".npz", ".pdb", ".cif", ".mmcif", ".ent", ".pdb.gz", ".cif.gz", ".ent.gz")
BYTES = 2**28  # of a structure
ENOUGH = 0.5  # fraction of the first sequence's letters that must be equal to those of the structure


@dataclass(frozen=True)
class Chain:
    """The residues of a chain that have coordinates: their letters, and the atoms that are measured."""

    name: str
    letters: str
    atoms: list[np.ndarray]  # (atom, 3) for each residue

    def distances(self) -> np.ndarray:
        """The least distance between the atoms of two residues, in ångström."""
        owner = np.repeat(np.arange(len(self.atoms)), [len(some) for some in self.atoms])
        positions = np.concatenate(self.atoms)
        result = np.full((len(self.atoms), len(self.atoms)), np.inf, np.float32)
        for residue, some in enumerate(self.atoms):
            apart = np.linalg.norm(positions[:, None] - some[None], axis=-1).min(1)
            np.minimum.at(result[residue], owner, apart.astype(np.float32))
        return result


def distances_for(
    alignment: Alignment, path: str | Path, data: bytes | None = None
) -> Float[Tensor, "residue residue"]:
    """Distances between the residues of the first sequence; NaN where the structure lacks one.

    With `data`, the bytes of a file with this name, no file is read.
    """
    path = Path(path)
    with open_decompressed(path, data) as file:
        content = file.read(BYTES + 1)
    if len(content) > BYTES:
        raise UserError(f"{path}: is larger than {BYTES >> 20} MiB; keep one model of the structure")
    if path.suffix == ".npz":
        return _stored(alignment, path, content)
    chain, placed = best_chain(alignment, _chains(path, content, alignment.alphabet), path)
    known = chain.distances()
    result = np.full((alignment.length, alignment.length), np.nan, np.float32)
    columns = [column for column, _ in placed]
    residues = [residue for _, residue in placed]
    result[np.ix_(columns, columns)] = known[np.ix_(residues, residues)]
    return torch.from_numpy(result)


def _stored(alignment: Alignment, path: Path, content: bytes) -> Tensor:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive, archive.open("distance.npy") as file:
            shape = _shape(file)  # before memory is taken for what the header claims
            if shape != (alignment.length, alignment.length):
                shown = "×".join(map(str, shape))
                raise UserError(f"{path}: distance is {shown}, and {alignment.name} has {alignment.length} residues")
        with np.load(io.BytesIO(content)) as arrays:
            distance = arrays["distance"].astype(np.float32)
    except (OSError, ValueError, KeyError, EOFError, zlib.error, NotImplementedError, zipfile.BadZipFile) as error:
        raise UserError(f"{path}: holds no array `distance` ({one_line(error)})") from None
    return torch.from_numpy(distance)


def _shape(file: Any) -> tuple[int, ...]:
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape: tuple[int, ...] = read(file)[0]
    return shape


def read_chains(path: Path, alphabet: Alphabet) -> list[Chain]:
    """The chains of a structure's first model that have residues of this alphabet."""
    with open_decompressed(path) as file:
        return _chains(path, file.read(BYTES), alphabet)


def _chains(path: Path, content: bytes, alphabet: Alphabet) -> list[Chain]:
    require("proteins", f"{path}: reading a structure")
    import gemmi

    try:
        structure = gemmi.read_structure_string(content, format=gemmi.CoorFormat.Detect)
    except (OSError, RuntimeError, ValueError) as error:
        raise UserError(f"{path}: is not a structure in PDB or mmCIF format ({one_line(error)})") from None
    chains = [_chain(chain, alphabet) for chain in structure[0]] if len(structure) else []
    chains = [chain for chain in chains if chain.letters]
    if not chains:
        raise UserError(f"{path}: has no {alphabet.molecule} residues with coordinates")
    return chains


def _chain(chain: Any, alphabet: Alphabet) -> Chain:
    import gemmi

    letters, atoms = "", list[Any]()
    for residue in chain.first_conformer():
        kind = gemmi.find_tabulated_residue(residue.name)
        right = kind.is_nucleic_acid() if alphabet.molecule == "rna" else kind.is_amino_acid()
        letter, measured = kind.one_letter_code.upper(), _measured(residue, alphabet)
        if right and letter in alphabet.letters and len(measured):
            letters, atoms = letters + letter, [*atoms, measured]
    return Chain(chain.name, letters, atoms)


def _measured(residue: Any, alphabet: Alphabet) -> np.ndarray:
    if alphabet.molecule == "rna":
        return np.array([atom.pos.tolist() for atom in residue if not atom.is_hydrogen()])
    by_name = {atom.name: atom.pos.tolist() for atom in residue}
    chosen = by_name.get("CB") or by_name.get("CA")
    return np.array([chosen]) if chosen and "CA" in by_name else np.empty((0, 3))


def best_chain(alignment: Alignment, chains: list[Chain], path: Path) -> tuple[Chain, list[tuple[int, int]]]:
    """The chain most like the first sequence, and which of its residues stands at which column."""
    placed = [(chain, align(alignment.query, chain.letters)) for chain in chains]

    def equal(pairs: list[tuple[int, int]], chain: Chain) -> int:
        return sum(alignment.query[column] == chain.letters[residue] for column, residue in pairs)

    chain, pairs = max(placed, key=lambda one: equal(one[1], one[0]))
    if equal(pairs, chain) < ENOUGH * alignment.length:
        share = equal(pairs, chain) / alignment.length
        raise UserError(
            f"{path}: its chain {chain.name} agrees with {share:.0%} of the first sequence of {alignment.name}; "
            "is it another protein?"
        )
    return chain, pairs


def align(query: str, other: str) -> list[tuple[int, int]]:
    """Global alignment of two sequences: the pairs of places that stand together."""
    import gemmi

    steps = gemmi.align_string_sequences(list(query), list(other), []).cigar_str()
    pairs, i, j = [], 0, 0
    for count, step in re.findall(r"(\d+)([MID])", steps):
        size = int(count)
        if step == "M":
            pairs += [(i + number, j + number) for number in range(size)]
        i += size * (step in "MI")
        j += size * (step in "MD")
    return pairs
