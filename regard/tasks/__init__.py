"""The tasks, one folder each: data, loss, scores, answers, recording, recipe and verbs of one job.

`union.py` is their table. The command line reads the verbs before anything heavy is imported, so the names of this
package are imported on demand.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regard.tasks.base import Run, Task
    from regard.tasks.evaluation import evaluate
    from regard.tasks.plan import Plan
    from regard.tasks.run import load_run, save_run
    from regard.tasks.training import train
    from regard.tasks.union import (
        AnyTask,
        Classify,
        ClassifyImages,
        InContextTables,
        LanguageModel,
        MaskedCells,
        MaskedLM,
        Summarise,
        Tag,
        Translate,
    )

_HOME = {
    "base": ("Run", "Task"),
    "evaluation": ("evaluate",),
    "plan": ("Plan",),
    "run": ("load_run", "save_run"),
    "training": ("train",),
    "union": (
        "AnyTask", "Classify", "ClassifyImages", "InContextTables", "LanguageModel", "MaskedCells", "MaskedLM",
        "Summarise", "Tag", "Translate",
    ),
}  # fmt: skip

__all__ = [
    "AnyTask", "Classify", "ClassifyImages", "InContextTables", "LanguageModel", "MaskedCells", "MaskedLM", "Plan",
    "Run", "Summarise", "Tag", "Task", "Translate", "evaluate", "load_run", "save_run", "train",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    for module, names in _HOME.items():
        if name in names:
            return getattr(import_module(f"regard.tasks.{module}"), name)
    raise AttributeError(f"module 'regard.tasks' has no attribute {name!r}")
