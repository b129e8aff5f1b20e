"""Evaluate a run on files that it was not trained on; they come in the form that training took."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from regard.core.errors import ConfigError, UserError
from regard.tasks.base import EvalOptions, Run


def evaluate(run: Run, files: Sequence[str], options: EvalOptions = EvalOptions()) -> dict[str, Any]:
    """Scores, with what exactly was counted; an option that the task does not take is refused."""
    if run.task is None:
        raise UserError(f"{run.path}: its config names no task, so nothing can be evaluated")
    for field in fields(EvalOptions):
        if getattr(options, field.name) and field.name not in run.task.eval_options:
            raise ConfigError(f"{field.name}: has no effect on {run.path}, whose task is {type(run.task).__name__}")
    return run.task.evaluate(run, files, options)
