"""The data of a plan, prepared by its task and measured by the validation loss alone."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from regard.tasks.base import Prepared, Workspace
from regard.tasks.plan import Plan
from regard.train import Ranks


@contextmanager
def prepared(plan: Plan, out: Path, ranks: Ranks = Ranks()) -> Iterator[Prepared]:
    """`out` is the run folder, whose tokenizer is used where it has one.

    Studies compare losses: generating every validation text of every run would cost more than its training.
    """
    with plan.task.prepare(plan, Workspace(out, ranks, resume=True)) as ready:
        yield replace(ready, score=lambda run, loss: {"loss": loss})
