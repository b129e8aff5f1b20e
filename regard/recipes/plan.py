"""A plan: all that a run is made from. The run folder keeps it as `config.yaml`; the command line changes its keys."""

import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import regard
from regard.core.config import from_dict, override, to_dict
from regard.core.errors import ConfigError
from regard.data.dates import Dates
from regard.models import Model
from regard.run import CONFIG, read_config
from regard.tasks import Task
from regard.train import Training

Data = Dates


@dataclass(frozen=True, kw_only=True)
class Plan:
    data: Data
    task: Task
    model: Model
    training: Training


def settle(plan: Plan, changes: Mapping[str, Any], out: Path, resume: bool) -> Plan:
    """The plan with the user's changes; a resumed run keeps its own, of which only the training may change."""
    if not resume or not (out / CONFIG).exists():
        return override(plan, changes)
    stored = read_config(out)
    try:
        began = from_dict(Plan, {name: stored.get(name) for name in ("data", "task", "model", "training")})
    except ConfigError as error:
        raise ConfigError(f"{out / CONFIG}: {error}") from None
    fixed = [key for key in changes if not key.startswith("training.")]
    changed = override(began, changes)
    for key in fixed:
        if changed != override(began, {k: v for k, v in changes.items() if k != key}):
            raise ConfigError(f"{key}: a resumed run cannot change it; start a new run in another folder")
    return changed


def describe(plan: Plan) -> dict[str, Any]:
    """What `config.yaml` holds: the plan, and what it was run with."""
    import torch

    return {
        "regard": regard.__version__,
        "torch": str(torch.__version__),
        "threads": torch.get_num_threads(),
        "command": shlex.join(["regard", *sys.argv[1:]]),
        **{name: value for name, value in to_dict(plan).items() if name != "kind"},
    }
