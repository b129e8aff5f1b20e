"""A run opened for viewing: loaded when it is first needed, and again when training has written better weights."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from regard.core.errors import UserError
from regard.core.model import outline_of
from regard.data.trees.conllu import Parse
from regard.loading import holds_table, load, load_table
from regard.models import Model
from regard.store import CONFIG, METRICS, TOKENIZER, WEIGHTS
from regard.tables.leave_out import leave_out
from regard.tasks.base import Run, Task
from regard.tasks.recording import Recording, ViewInput
from regard.tasks.run import read_settings
from regard.tasks.trees import needs_trees
from regard.view.pictures import position_pictures
from regard.view.pictures.groups import short_names, study_of
from regard.view.row_explanation import Estimator, RowExplanation, example_row, explain_row, form_fields

ONLY_CURVES = "only its training curves can be drawn"


def record(run: Run, input: ViewInput, tree: Parse | None = None) -> Recording:
    """The answer to an input with every attention map behind it; `tree` is that of the text, for tree positions."""
    if run.task is None:
        raise UserError(f"{run.path}: holds a {type(run.config).__name__} without a task: {ONLY_CURVES}")
    return run.task.record(run, input, tree)


class OpenRun:
    def __init__(self, path: Path, trees: Sequence[Parse] = (), label: str | None = None):
        """A `label` names a run in place of its path."""
        self.path, self.trees, self.label = path, trees, label
        self._loaded: tuple[int, Any] | None = None
        self._left_out: tuple[Estimator, int, Estimator] | None = None

    def loaded(self) -> Run | Estimator:
        """The run with its newest weights."""
        written = _modified(self.path / WEIGHTS)
        if self._loaded is None or self._loaded[0] != written:
            self._loaded = written, load_table(self.path) if holds_table(self.path) else load(self.path)
        return self._loaded[1]

    def describe(self) -> dict[str, Any]:
        """What the page needs to offer the right form; a run that cannot be loaded says why, and shows its curves."""
        description: dict[str, Any] = {
            "name": self.label or str(self.path), "kind": None, "hint": "", "columns": [], "problem": "",
            "model": "", "metrics": (self.path / METRICS).is_file(), **study_of(self.path),
        }  # fmt: skip
        try:
            return description | (self._table() if holds_table(self.path) else self._model())
        except UserError as error:
            return description | {"problem": str(error)}

    def _table(self) -> dict[str, Any]:
        estimator = self.loaded()
        assert not isinstance(estimator, Run)
        fields, example = form_fields(estimator), example_row(estimator)
        return {"kind": "row", "model": type(estimator).__name__, "columns": fields, "example": example}

    def _model(self) -> dict[str, Any]:
        config, task, has_tokenizer = self._settings()
        form = task.view_form(config, has_tokenizer) if task is not None else None
        model = f"{type(config).__name__}, {parameters(config):,} parameters"
        return {"model": model, "kind": form and form.kind, "hint": form.hint if form else ""}

    def _settings(self) -> tuple[Model, Task | None, bool]:
        """The model's config, its task, and whether it has a tokenizer. Weights of our own runs are not read for it: a
        study has many runs, most of which are shown as curves alone."""
        if (self.path / CONFIG).is_file():
            return *read_settings(self.path), (self.path / TOKENIZER).is_file()
        run = self.loaded()
        assert isinstance(run, Run)
        return run.config, run.task, run.tokenizer is not None

    def record(self, input: ViewInput) -> Recording | RowExplanation:
        loaded = self.loaded()
        if isinstance(loaded, Run):
            return record(loaded, input, self._tree(input))
        return explain_row(self._without(loaded, input.without), input)

    def _without(self, estimator: Estimator, row: int | None) -> Estimator:
        """The estimator without a training row; the last one is kept, for the next edit of the same row."""
        if row is None:
            return estimator
        if self._left_out is None or self._left_out[0] is not estimator or self._left_out[1] != row:
            self._left_out = estimator, row, leave_out(estimator, row)
        return self._left_out[2]

    def takes_trees(self) -> bool:
        loaded = self.loaded()
        return isinstance(loaded, Run) and needs_trees(loaded.config)

    def _tree(self, input: ViewInput) -> Parse | None:
        """The tree of this text, where the run needs one; runs with other positions can stand beside it."""
        if not self.takes_trees():
            return None
        tree = next((one for one in self.trees if one.difference(input.text) is None), None)
        if tree is None:
            raise UserError(
                f"{self.path}: its Tree positions need the tree of the text, and "
                + (f"none of the {len(self.trees):,} trees belongs to it" if self.trees else "none is given")
                + "; name a CoNLL-U file that has it with --trees"
            )
        return tree

    def positions(self) -> list[dict[str, Any]]:
        loaded = self.loaded()
        return position_pictures(loaded.model) if isinstance(loaded, Run) else []


def labels_of(runs: Sequence[OpenRun]) -> list[str]:
    """Short names that tell runs apart."""
    names = iter(short_names([run.path for run in runs if run.label is None]))
    return [run.label or next(names) for run in runs]


@lru_cache(maxsize=256)  # seeds of a study share their config
def parameters(config: Model) -> int:
    return sum(weights.numel() for weights in outline_of(config).parameters())


def _modified(file: Path) -> int:
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return 0
