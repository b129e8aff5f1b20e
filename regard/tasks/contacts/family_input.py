"""The input of the viewer for families: an alignment that a user chose or pasted, and a structure if there is one."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jaxtyping import Float
from torch import Tensor

from regard.core.errors import UserError
from regard.data.alignments.alignment import Alignment
from regard.data.alignments.families import find_structure
from regard.data.alignments.formats import read_alignment
from regard.data.alignments.structures import distances_for
from regard.tasks.input_file import MAX_BYTES, MAX_NAME, InputFile, read_bounded


@dataclass(frozen=True)
class FamilyInput:
    alignment: InputFile
    structure: InputFile | None = None
    first: int = 1  # of the residues that are shown of a long chain

    def read(self) -> tuple[Alignment, Float[Tensor, "residue residue"] | None]:
        """The alignment, and the distances of the structure."""
        alignment = read_alignment(self.alignment.name, data=self.alignment.data)
        if self.structure is None:
            return alignment, None
        return alignment, distances_for(alignment, self.structure.name, self.structure.data)

    def as_json(self) -> dict[str, Any]:
        structure = self.structure and self.structure.digest
        return {"alignment": self.alignment.digest, "structure": structure, "first": self.first}


def alignment_file(name: str, data: bytes) -> InputFile:
    """Raise a UserError unless the bytes are an alignment of acceptable size."""
    file = _bounded(name or "the alignment", data)
    read_alignment(file.name, data=file.data)
    return file


def structure_file(name: str, data: bytes) -> InputFile:
    """What the bytes hold is checked where they are read, together with the alignment."""
    return _bounded(name or "the structure", data)


def read_family_input(alignment: Path, structure: Path | None) -> FamilyInput:
    """The files of the command line; without a structure, the one beside the alignment under the same name."""
    read = alignment_file(str(alignment), read_bounded(alignment, "an alignment file"))
    structure = structure or find_structure(alignment)
    if structure is None:
        return FamilyInput(read)
    what = "a structure (.pdb, .cif, or .npz with an array `distance`)"
    family = FamilyInput(read, structure_file(str(structure), read_bounded(structure, what)))
    family.read()
    return family


def _bounded(name: str, data: bytes) -> InputFile:
    if len(data) > MAX_BYTES:
        raise UserError(f"{name[:MAX_NAME]}: larger than {MAX_BYTES:,} bytes; keep fewer sequences, or compress it")
    return InputFile(name[-MAX_NAME:], data)  # the end of the name holds the suffix
