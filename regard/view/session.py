"""A session of the viewer: open runs, recent recordings, uploaded files, and every answer of the API as JSON data.

The server sends these answers live; an exported file contains them.
"""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from regard.core.errors import UserError
from regard.tasks.contacts.family_input import FamilyInput, alignment_file, structure_file
from regard.tasks.image.image_file import ImageFile, image_file
from regard.tasks.input_file import InputFile
from regard.tasks.recording import Recording, ViewInput
from regard.view.open_run import OpenRun, labels_of
from regard.view.pictures import (
    alignment_picture,
    family_picture,
    head_picture,
    image_picture,
    overview_picture,
    patch_picture,
    residue_picture,
    rollout_picture,
    sequence_picture,
    training_picture,
)
from regard.view.pictures.alignment import attends_to_source
from regard.view.pictures.attention import summarise_map
from regard.view.row_explanation import RowExplanation

RECORDING_BYTES = 2**31  # of attention weights kept in memory; the least recently used recordings are dropped first
FILE_BYTES = 2**28  # of uploaded files kept in memory
READ = {"image": image_file, "alignment": alignment_file, "structure": structure_file}  # raise an error for bad files


class Session:
    """Open runs and the recordings made of them."""

    def __init__(self, runs: Sequence[OpenRun]):
        self.runs = list(runs)
        self._recordings: OrderedDict[int, Recording] = OrderedDict()
        self._files: OrderedDict[tuple[str, str], InputFile] = OrderedDict()  # by kind and digest
        self._count = 0
        self._lock = threading.RLock()  # a model is listened to by one request at a time

    def describe(self) -> dict[str, Any]:
        with self._lock:
            labels = labels_of(self.runs)
            return {"runs": [{**run.describe(), "label": label} for run, label in zip(self.runs, labels, strict=True)]}

    def record(self, run: int, input: ViewInput) -> dict[str, Any]:
        """The model's answer, and the number under which its attention maps can be requested."""
        with self._lock:
            result = self._run(run).record(input)
            if isinstance(result, RowExplanation):
                return {"kind": "explanation", **asdict(result), "input": input.as_json()}
            number, self._count = self._count, self._count + 1
            self._recordings[number] = result
            while len(self._recordings) > 1 and sum(one.bytes for one in self._recordings.values()) > RECORDING_BYTES:
                self._recordings.popitem(last=False)
        return {
            "kind": "attention",
            "id": number,
            "input": input.as_json(),
            "name": input.file_name,
            "answer": result.answer,
            "probabilities": result.probabilities,
            "notes": result.notes,
            "maps": [{**summarise_map(one), "cross": attends_to_source(one)} for one in result.maps],
        }

    def keep_file(self, kind: str, file: InputFile) -> dict[str, Any]:
        """A file is uploaded once and then named by its digest, whichever runs it is shown to."""
        with self._lock:
            self._files[kind, file.digest] = file
            self._files.move_to_end((kind, file.digest))
            while len(self._files) > 1 and sum(len(one.data) for one in self._files.values()) > FILE_BYTES:
                self._files.popitem(last=False)
        return {kind: file.digest, "name": file.name}

    def keep_input(self, input: ViewInput) -> None:
        """The files of the first input, which the page asks for by their digests."""
        if input.image is not None:
            self.keep_file("image", input.image)
        if input.family is not None:
            self.keep_file("alignment", input.family.alignment)
            if input.family.structure is not None:
                self.keep_file("structure", input.family.structure)

    def upload(self, kind: str, name: str, data: bytes) -> dict[str, Any]:
        if kind not in READ:
            raise UserError(f"{kind}: no such kind of file; known are {', '.join(READ)}")
        return self.keep_file(kind, READ[kind](name, data))

    def find_file(self, kind: str, digest: str) -> InputFile:
        with self._lock:
            if (kind, digest) not in self._files:
                raise UserError(f"{kind} {digest[:16]}: no longer in memory; choose the file again")
            self._files.move_to_end((kind, digest))
            return self._files[kind, digest]

    def find_image(self, digest: str) -> ImageFile:
        file = self.find_file("image", digest)
        assert isinstance(file, ImageFile)
        return file

    def find_family(self, alignment: str, structure: str | None, first: int) -> FamilyInput:
        known = None if structure is None else self.find_file("structure", structure)
        return FamilyInput(self.find_file("alignment", alignment), known, first)

    def family(self, number: int) -> dict[str, Any]:
        return family_picture(self.recording(number))

    def residues(
        self, number: int, attention: str, head: int | None = None, sequence: int | None = None
    ) -> dict[str, Any]:
        return residue_picture(self.recording(number), attention, head, sequence)

    def sequences(self, number: int, attention: str, head: int | None = None) -> dict[str, Any]:
        return sequence_picture(self.recording(number), attention, head)

    def image(self, number: int) -> dict[str, Any]:
        return image_picture(self.recording(number))

    def patches(self, number: int, attention: str, head: int | None = None) -> dict[str, Any]:
        return patch_picture(self.recording(number), attention, head)

    def rollout(self, number: int, attention: str | None = None) -> dict[str, Any]:
        return rollout_picture(self.recording(number), attention)

    def overview(self, number: int, max_size: int = 32) -> dict[str, Any]:
        return overview_picture(self.recording(number), max_size)

    def head(
        self,
        number: int,
        attention: str,
        head: int,
        first: int = 0,
        last: int | None = None,
        max_size: int | None = None,
    ) -> dict[str, Any]:
        return head_picture(self.recording(number), attention, head, first, last, max_size)

    def alignment(self, number: int, attention: str | None = None, head: int | None = None) -> dict[str, Any]:
        return alignment_picture(self.recording(number), attention, head)

    def positions(self, run: int) -> dict[str, Any]:
        with self._lock:
            return {"pictures": self._run(run).positions()}

    def training(self, run: int) -> dict[str, Any]:
        return training_picture(self._run(run).path)

    def recording(self, number: int) -> Recording:
        with self._lock:
            if number not in self._recordings:
                raise UserError(f"recording {number}: no longer in memory; enter the input again")
            self._recordings.move_to_end(number)
            return self._recordings[number]

    def _run(self, number: int) -> OpenRun:
        if not 0 <= number < len(self.runs):
            raise UserError(f"run {number}: there are {len(self.runs)} runs, numbered from 0")
        return self.runs[number]
