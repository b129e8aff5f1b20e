"""A run on show: loaded when it is first asked, and again when training has written better weights."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from regard.core.errors import UserError
from regard.data.trees import Parse
from regard.loading import holds_table, load, load_table
from regard.models import BERT, GPT, FillWords, FromSource, ViT
from regard.parts.positions import Tree
from regard.run import METRICS, WEIGHTS, Run
from regard.tasks import ClassifyImages, Summarise
from regard.view.pictures import position_pictures
from regard.view.record import RECORDERS, record
from regard.view.recording import Given, Recording
from regard.view.rest import Estimator, Rest, form, rest

HINTS = {
    "pair": "a sentence to translate",
    "summary": "a document to summarise",
    "text": "a text to go on from",
    "gaps": "a text with [MASK] in place of words",
    "label": "a text to name the label of",
    "image": "a picture to name the label of",
}


class Shown:
    def __init__(self, path: Path, trees: Sequence[Parse] = ()):
        self.path, self.trees = path, trees
        self._loaded: tuple[int, Any] | None = None

    def loaded(self) -> Run | Estimator:
        """The run with its newest weights."""
        written = _changed(self.path / WEIGHTS)
        if self._loaded is None or self._loaded[0] != written:
            self._loaded = written, load_table(self.path) if holds_table(self.path) else load(self.path)
        return self._loaded[1]

    def describe(self) -> dict[str, Any]:
        """What a page must know to offer the right form; a run that cannot be loaded says why, and shows its curves."""
        told: dict[str, Any] = {
            "name": str(self.path), "kind": None, "hint": "", "columns": [], "problem": "",
            "model": "", "metrics": (self.path / METRICS).is_file(),
        }  # fmt: skip
        try:
            found = self.loaded()
        except UserError as error:
            return {**told, "problem": str(error)}
        if not isinstance(found, Run):
            return {**told, "kind": "row", "model": type(found).__name__, "columns": form(found)}
        parameters = sum(weights.numel() for weights in found.model.parameters())
        told["model"] = f"{type(found.config).__name__}, {parameters:,} parameters"
        kind = input_kind(found)
        return {**told, "kind": kind, "hint": HINTS.get(kind or "", "")}

    def record(self, given: Given) -> Recording | Rest:
        found = self.loaded()
        return record(found, given, self._tree(given)) if isinstance(found, Run) else rest(found, given)

    def takes_trees(self) -> bool:
        found = self.loaded()
        return isinstance(found, Run) and isinstance(getattr(found.config, "position", None), Tree)

    def _tree(self, given: Given) -> Parse | None:
        """The tree of this very text, where the run needs one; a run with other positions stands beside it as it is."""
        if not self.takes_trees():
            return None
        tree = next((one for one in self.trees if one.difference(given.text) is None), None)
        if tree is None:
            raise UserError(
                f"{self.path}: its Tree positions need the tree of the text, and "
                + (f"none of the {len(self.trees):,} given is its" if self.trees else "none is given")
                + "; name a CoNLL-U file that holds it with --trees"
            )
        return tree

    def positions(self) -> list[dict[str, Any]]:
        found = self.loaded()
        return position_pictures(found.model) if isinstance(found, Run) else []


def input_kind(run: Run) -> str | None:
    """What the run takes; None where nothing can be given to it."""
    if isinstance(run.config, ViT):
        return "image" if isinstance(run.task, ClassifyImages) else None
    if type(run.config) not in RECORDERS or run.tokenizer is None:
        return None
    if isinstance(run.config, FromSource):
        return "summary" if isinstance(run.task, Summarise) else "pair"
    if isinstance(run.config, GPT):
        return "text"
    return "gaps" if isinstance(run.config, BERT) and isinstance(run.config.head, FillWords) else "label"


def _changed(file: Path) -> int:
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return 0
