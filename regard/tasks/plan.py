"""A plan: everything a run is made from. The run folder keeps it as `config.yaml`; dotted options change its keys."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from regard.core.config import from_dict, override, to_dict
from regard.core.errors import ConfigError, UserError
from regard.core.machine import command_line
from regard.core.version import VERSION
from regard.models import Model
from regard.parts.adapter import Adapter
from regard.store import CONFIG, read_config
from regard.tasks.union import AnyTask
from regard.train import Training

if TYPE_CHECKING:
    Data = Any
else:  # the union of all kinds of data that the tasks declare
    Data = reduce(or_, (kind for task in get_args(AnyTask) for kind in task.data))

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Plan:
    data: Data
    task: AnyTask
    model: Model
    training: Training
    init: str | None = None  # the run or Hugging Face folder whose weights training starts from
    adapter: Adapter | None = None  # what is trained beside these weights, which then stay as they are


PLAN = [field.name for field in fields(Plan)]

FILES = ("files", "train")  # of data: what is trained on

MAY_CHANGE = {
    "steps", "epochs", "min_steps", "minutes", "schedule", "grad_clip", "accumulation", "precision", "compile",
    "log_every", "eval_every", "checkpoint_minutes", "keep_checkpoints",
}  # fmt: skip


def settle(plan: Plan, changes: Mapping[str, Any], out: Path, resume: bool) -> Plan:
    """The plan with the user's changes; a resumed run keeps its own, of which only budget and logging may change."""
    if not resume or not (out / CONFIG).exists():
        return override(plan, changes)
    stored = stored_plan(out)
    for key in changes:
        may_change = key.startswith("training.") and key.split(".")[1] in MAY_CHANGE
        if not may_change and override(stored, {key: changes[key]}) != stored:
            raise ConfigError(f"{key}: a resumed run cannot change it; start a new run in another folder")
    for name in FILES:
        before, now = getattr(stored.data, name, None), getattr(plan.data, name, None)
        if isinstance(before, tuple) and before != now:  # of generated data it is a number
            log.info("note: a resumed run continues with its own data (%s)", ", ".join(before))
    return override(stored, changes)


def stored_plan(path: Path) -> Plan:
    """The plan of a run folder."""
    stored = read_config(path)
    if stored.get("data") is None:
        raise UserError(f"{path}: was not made by `regard train`, so it names no data")
    try:
        plan: Plan = from_dict(Plan, {name: stored.get(name) for name in PLAN})
    except ConfigError as error:
        raise ConfigError(f"{path / CONFIG}: {error}") from None
    return plan


def describe(plan: Plan, out: Path) -> dict[str, Any]:
    """What `config.yaml` holds: the plan, and what it was run with. A resumed run keeps its first command."""
    import torch

    command = command_line()
    if (out / CONFIG).exists():
        command = read_config(out).get("command", command)
    return {
        "regard": VERSION,
        "torch": str(torch.__version__),
        "threads": torch.get_num_threads(),
        "command": command,
        **{name: to_dict(plan)[name] for name in PLAN},
    }
