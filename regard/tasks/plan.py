"""A plan: all that a run is made from. The run folder keeps it as `config.yaml`; the command line changes its keys."""

import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import regard
from regard.core.config import from_dict, override, to_dict
from regard.core.errors import ConfigError
from regard.data.images.images import ImageFiles
from regard.data.text.corpus import Corpus
from regard.data.text.dates import Dates
from regard.data.text.labelled import LabelFiles
from regard.data.text.pair_files import PairFiles
from regard.models import Model
from regard.store import CONFIG, read_config
from regard.tables.file import TableFile
from regard.tables.prior import Prior
from regard.tasks import Task
from regard.train import Training

Data = Dates | Corpus | PairFiles | LabelFiles | ImageFiles | Prior | TableFile


@dataclass(frozen=True, kw_only=True)
class Plan:
    data: Data
    task: Task
    model: Model
    training: Training
    init: str | None = None  # the run whose weights training begins from


PLAN = [field.name for field in fields(Plan)]


FILES = ("files", "train")  # of data: what is learned from

MAY_CHANGE = {
    "steps", "epochs", "min_steps", "minutes", "schedule", "grad_clip", "accumulation", "precision", "compile",
    "log_every", "eval_every", "checkpoint_minutes", "keep_checkpoints",
}  # fmt: skip


def settle(plan: Plan, changes: Mapping[str, Any], out: Path, resume: bool) -> Plan:
    """The plan with the user's changes; a resumed run keeps its own, of which only how to go on may change."""
    if not resume or not (out / CONFIG).exists():
        return override(plan, changes)
    stored = read_config(out)
    try:
        began = from_dict(Plan, {name: stored.get(name) for name in PLAN})
    except ConfigError as error:
        raise ConfigError(f"{out / CONFIG}: {error}") from None
    for key in changes:
        may_change = key.startswith("training.") and key.split(".")[1] in MAY_CHANGE
        if not may_change and override(began, {key: changes[key]}) != began:
            raise ConfigError(f"{key}: a resumed run cannot change it; start a new run in another folder")
    for name in FILES:
        own, given = getattr(began.data, name, None), getattr(plan.data, name, None)
        if isinstance(own, tuple) and own != given:  # of generated data it is a number
            print(f"note: a resumed run goes on with its own data ({', '.join(own)}), not with others", file=sys.stderr)
    return override(began, changes)


def describe(plan: Plan, out: Path) -> dict[str, Any]:
    """What `config.yaml` holds: the plan, and what it was run with. A resumed run keeps its first command."""
    import torch

    command = shlex.join(["regard", *sys.argv[1:]])
    if (out / CONFIG).exists():
        command = read_config(out).get("command", command)
    return {
        "regard": regard.__version__,
        "torch": str(torch.__version__),
        "threads": torch.get_num_threads(),
        "command": command,
        **{name: to_dict(plan)[name] for name in PLAN},
    }
