"""Training: one loop for every task.

`regard.train` is this package and, called as `regard.train(plan, out)`, the function that trains a plan.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

from regard.core.batches import Batch, Batches, Loss, Objective
from regard.train.evaluate import Sample, evaluate
from regard.train.keeper import Checkpoint, Keeper, MemoryKeeper
from regard.train.loop import Loop
from regard.train.optimisers import AdamW, Muon
from regard.train.processes import is_rank, run_as_ranks
from regard.train.progress import DivergedError, Progress, Report
from regard.train.ranks import OtherRankError, Ranks, join_ranks
from regard.train.schedules import WSD, Constant, Cosine, InverseRoot
from regard.train.settings import Training
from regard.train.tensorboard import Callback, TensorBoard

__all__ = [
    "WSD",
    "AdamW",
    "Batch",
    "Batches",
    "Callback",
    "Checkpoint",
    "Constant",
    "Cosine",
    "DivergedError",
    "InverseRoot",
    "Keeper",
    "Loop",
    "Loss",
    "MemoryKeeper",
    "Muon",
    "Objective",
    "OtherRankError",
    "Progress",
    "Ranks",
    "Report",
    "Sample",
    "TensorBoard",
    "Training",
    "evaluate",
    "is_rank",
    "join_ranks",
    "run_as_ranks",
]


class _Package(ModuleType):
    """Importing this package replaces the function `train` of `regard` by the package, so the package can be called."""

    def __call__(self, *args: Any, **options: Any) -> Report:
        report: Report = import_module("regard.tasks.training").train(*args, **options)
        return report


sys.modules[__name__].__class__ = _Package
