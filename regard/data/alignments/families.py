"""Families with a known structure: an alignment file and, beside it under the same name, a structure."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jaxtyping import Float
from torch import Tensor

from regard.core.errors import UserError
from regard.data.alignments.alignment import Alignment, OneSequenceError
from regard.data.alignments.formats import read_alignment
from regard.data.alignments.structures import SUFFIXES, distances_for

ALIGNMENTS = (".a3m", ".fasta", ".fa", ".sto", ".stockholm", ".aln", ".clustal")
COMPRESSED = ("", ".gz", ".xz", ".zst")

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Family:
    """`distance` in ångström between the residues of the first sequence; NaN where it is unknown."""

    alignment: Alignment
    distance: Float[Tensor, "residue residue"]

    @property
    def name(self) -> str:
        return self.alignment.name


def read_families(paths: Sequence[str]) -> list[Family]:
    """Every family of the files and folders; of a folder, those of one sequence are left out."""
    families = []
    for path in map(Path, paths):
        for file in _files(path):
            try:
                families.append(read_family(file))
            except OneSequenceError as error:
                if not path.is_dir():
                    raise
                log.info("note: left out: %s", error)
    return families


def read_family(path: Path) -> Family:
    alignment = read_alignment(path)
    return Family(alignment, distances_for(alignment, structure_beside(path)))


def structure_beside(path: Path) -> Path:
    structure = find_structure(path)
    if structure is None:
        stem = _stem(path.name)
        raise UserError(f"{path}: has no structure beside it; put {stem}.pdb or {stem}.cif into the same folder")
    return structure


def find_structure(path: Path) -> Path | None:
    """The structure that lies beside an alignment under the same name."""
    besides = (path.with_name(_stem(path.name) + suffix) for suffix in SUFFIXES)
    return next((beside for beside in besides if beside.exists()), None)


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.iterdir() if _stem(file.name) != file.name)
    if not files:
        raise UserError(f"{path}: has no alignments (names that end in {', '.join(ALIGNMENTS)}, also compressed)")
    return files


def _stem(name: str) -> str:
    """The name without the suffix of an alignment; unchanged where it has none."""
    for suffix in ALIGNMENTS:
        for packing in COMPRESSED:
            if name.lower().endswith(suffix + packing):
                return name[: -len(suffix + packing)]
    return name
