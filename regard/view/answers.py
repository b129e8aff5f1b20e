"""What the page may ask, and the answers as plain data: the server gives them live, an exported file holds them."""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from regard.core.errors import UserError
from regard.view.image_file import ImageFile, image_file
from regard.view.pictures import (
    align_picture,
    head_picture,
    overview_picture,
    patch_picture,
    rollout_picture,
    seen_picture,
    training_picture,
)
from regard.view.pictures.alignment import looks_across
from regard.view.pictures.attention import described
from regard.view.recording import Given, Recording
from regard.view.rest import Rest
from regard.view.shown import Shown

KEPT = 2**31  # bytes of patterns that are kept; the recordings asked for longest ago leave first
KEPT_FILES = 2**28  # bytes of pictures


class Desk:
    """Runs on show, and the recordings that were made of them."""

    def __init__(self, runs: Sequence[Shown]):
        self.runs = list(runs)
        self._recordings: OrderedDict[int, Recording] = OrderedDict()
        self._files: OrderedDict[str, ImageFile] = OrderedDict()
        self._made = 0
        self._lock = threading.RLock()  # a model is listened to by one at a time

    def describe(self) -> dict[str, Any]:
        with self._lock:
            return {"runs": [run.describe() for run in self.runs]}

    def record(self, run: int, given: Given) -> dict[str, Any]:
        """The answer, and what can be asked about it under its number."""
        with self._lock:
            found = self._run(run).record(given)
            if isinstance(found, Rest):
                return {"kind": "rest", **asdict(found), "given": given.told()}
            number, self._made = self._made, self._made + 1
            self._recordings[number] = found
            while len(self._recordings) > 1 and sum(one.bytes for one in self._recordings.values()) > KEPT:
                self._recordings.popitem(last=False)
        return {
            "kind": "looks",
            "id": number,
            "given": given.told(),
            "name": "" if given.image is None else given.image.name,
            "answer": found.answer,
            "chances": found.chances,
            "notes": found.notes,
            "looks": [{**described(look), "across": looks_across(look)} for look in found.looks],
        }

    def keep(self, file: ImageFile) -> dict[str, Any]:
        """A picture is given once, and then called by its digest, for every run that is to look at it."""
        with self._lock:
            self._files[file.digest] = file
            self._files.move_to_end(file.digest)
            while len(self._files) > 1 and sum(len(one.data) for one in self._files.values()) > KEPT_FILES:
                self._files.popitem(last=False)
        return {"picture": file.digest, "name": file.name}

    def take(self, name: str, data: bytes) -> dict[str, Any]:
        return self.keep(image_file(name, data))

    def kept(self, digest: str) -> ImageFile:
        with self._lock:
            if digest not in self._files:
                raise UserError(f"picture {digest[:16]}: is no longer kept; choose the file again")
            self._files.move_to_end(digest)
            return self._files[digest]

    def seen(self, number: int) -> dict[str, Any]:
        return seen_picture(self.recording(number))

    def patches(self, number: int, look: str, head: int | None = None) -> dict[str, Any]:
        return patch_picture(self.recording(number), look, head)

    def rollout(self, number: int, look: str | None = None) -> dict[str, Any]:
        return rollout_picture(self.recording(number), look)

    def overview(self, number: int, most: int = 32) -> dict[str, Any]:
        return overview_picture(self.recording(number), most)

    def head(
        self, number: int, look: str, head: int, first: int = 0, last: int | None = None, most: int | None = None
    ) -> dict[str, Any]:
        return head_picture(self.recording(number), look, head, first, last, most)

    def alignment(self, number: int, look: str | None = None, head: int | None = None) -> dict[str, Any]:
        return align_picture(self.recording(number), look, head)

    def positions(self, run: int) -> dict[str, Any]:
        with self._lock:
            return {"pictures": self._run(run).positions()}

    def training(self, run: int) -> dict[str, Any]:
        return training_picture(self._run(run).path)

    def recording(self, number: int) -> Recording:
        with self._lock:
            if number not in self._recordings:
                raise UserError(f"recording {number}: is no longer kept; give the input again")
            self._recordings.move_to_end(number)
            return self._recordings[number]

    def _run(self, number: int) -> Shown:
        if not 0 <= number < len(self.runs):
            raise UserError(f"run {number}: there are {len(self.runs)}, the first of which is 0")
        return self.runs[number]
