"""regard: every transformer from one attention operator.

run = regard.load("runs/dates")                      # a run folder, or a Hugging Face folder
run(["le 3 mars 2019"])                              # what it was trained for; here the same as run.translate
with regard.listen(run.model) as heard:              # every attention pattern, by name
    run(["le 3 mars 2019"])
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from regard.core.imports import uncollected
from regard.core.machine import choose_wait_policy
from regard.core.version import VERSION

if TYPE_CHECKING:
    from regard.loading import load
    from regard.parts.taps import listen
    from regard.tasks.evaluation import evaluate
    from regard.tasks.plan import Plan
    from regard.tasks.training import train
    from regard.train import Report

__version__ = VERSION
__all__ = ["Plan", "__version__", "evaluate", "listen", "load", "train"]

_HOME = {
    "Plan": "regard.tasks.plan",
    "evaluate": "regard.tasks.evaluation",
    "listen": "regard.parts.taps",
    "load": "regard.loading",
    "train": "regard.tasks.training",
}

choose_wait_policy()


def __getattr__(name: str) -> Any:
    """Importing torch takes two seconds; whoever only wants the version or the help need not wait."""
    if name in _HOME:
        with uncollected():
            return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'regard' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Train(ModuleType):
    """The package `regard.train`, which can be called as the function that trains a plan."""

    def __call__(self, *args: Any, **options: Any) -> "Report":
        report: Report = import_module(_HOME["train"]).train(*args, **options)
        return report


class _Regard(ModuleType):
    """Importing `regard.train` makes the package an attribute here, in the place of the function of that name."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "train" and type(value) is ModuleType:
            value.__class__ = _Train
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Regard
