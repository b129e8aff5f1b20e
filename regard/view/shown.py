"""A run on show: loaded when it is first asked, and again when training has written better weights."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from regard.core.errors import UserError
from regard.data.trees.conllu import Parse
from regard.loading import holds_table, load, load_table
from regard.models import BERT, GPT, FromSource, MaskedLMHead, Model, ViT
from regard.parts.positions import Tree
from regard.run import Run, read_model
from regard.store import CONFIG, METRICS, TOKENIZER, WEIGHTS
from regard.tasks import ClassifyImages, Summarise, Task
from regard.view.pictures import position_pictures
from regard.view.pictures.groups import study_of
from regard.view.record import RECORDERS, record
from regard.view.recording import Recording, ViewInput
from regard.view.row_explanation import Estimator, RowExplanation, explain_row, form_fields

HINTS = {
    "pair": "a sentence to translate",
    "summary": "a document to summarise",
    "text": "a text to go on from",
    "gaps": "a text with [MASK] in place of words",
    "label": "a text to name the label of",
    "image": "a picture to name the label of",
}


class OpenRun:
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
            "model": "", "metrics": (self.path / METRICS).is_file(), **study_of(self.path),
        }  # fmt: skip
        try:
            return told | (self._table() if holds_table(self.path) else self._model())
        except UserError as error:
            return told | {"problem": str(error)}

    def _table(self) -> dict[str, Any]:
        found = self.loaded()
        assert not isinstance(found, Run)
        return {"kind": "row", "model": type(found).__name__, "columns": form_fields(found)}

    def _model(self) -> dict[str, Any]:
        config, task, has_words = self._settings()
        kind = input_kind(config, task, has_words)
        model = f"{type(config).__name__}, {parameters(config):,} parameters"
        return {"model": model, "kind": kind, "hint": HINTS.get(kind or "", "")}

    def _settings(self) -> tuple[Model, Task | None, bool]:
        """The model's config, its task, and whether it has words. Of our own runs without their weights: a study has
        many, of which most are shown as curves alone."""
        if (self.path / CONFIG).is_file():
            return *read_model(self.path), (self.path / TOKENIZER).is_file()
        found = self.loaded()
        assert isinstance(found, Run)
        return found.config, found.task, found.tokenizer is not None

    def record(self, input: ViewInput) -> Recording | RowExplanation:
        found = self.loaded()
        return record(found, input, self._tree(input)) if isinstance(found, Run) else explain_row(found, input)

    def takes_trees(self) -> bool:
        found = self.loaded()
        return isinstance(found, Run) and isinstance(getattr(found.config, "position", None), Tree)

    def _tree(self, input: ViewInput) -> Parse | None:
        """The tree of this very text, where the run needs one; a run with other positions stands beside it as it is."""
        if not self.takes_trees():
            return None
        tree = next((one for one in self.trees if one.difference(input.text) is None), None)
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


def input_kind(config: Model, task: Task | None, has_words: bool) -> str | None:
    """What such a run takes; None where nothing can be given to it."""
    if isinstance(config, ViT):
        return "image" if isinstance(task, ClassifyImages) else None
    if type(config) not in RECORDERS or not has_words:
        return None
    if isinstance(config, FromSource):
        return "summary" if isinstance(task, Summarise) else "pair"
    if isinstance(config, GPT):
        return "text"
    return "gaps" if isinstance(config, BERT) and isinstance(config.head, MaskedLMHead) else "label"


@lru_cache(maxsize=256)  # seeds of a study share their config
def parameters(config: Model) -> int:
    with torch.device("meta"):  # counted without memory for them
        return sum(weights.numel() for weights in config.build().parameters())


def _changed(file: Path) -> int:
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return 0
