"""Fine-tuning: a run that starts from a pre-trained model, as a whole or with an adapter (Devlin et al., 2019)."""

import os
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from regard.core.config import from_dict
from regard.core.errors import ConfigError
from regard.interop.base_model import BaseModel, describe_base, keep_origin
from regard.interop.loading import Started, start_model, write_base
from regard.parts.adapter import Adapter
from regard.parts.positions import Learned
from regard.store import RunFolder
from regard.tasks.base import Workspace
from regard.tasks.plan import Plan, stored_plan
from regard.train import AdamW

FREE = ("head", "dropout", "labels")  # settings that may differ from the pre-trained model's
WIDTH = 256  # of models for which these peak learning rates are right; wider ones want lower ones
LR, ADAPTER_LR = 5e-4, 2e-3
LENGTHS = ("length", "max_length")  # of data: tokens of a text


def finetuned(plan: Plan, init: Path, *, adapted: bool = False) -> Plan:
    """The plan of a run that starts from a pre-trained model: its config with the head of the task, its tokenizer, and
    a low learning rate, as a step should not undo what it knows. An adapter starts at zero and takes a higher one."""
    if plan.task.reads_init:
        return replace(plan, init=lasting(init))
    base = describe_base(init)
    try:
        task, model = plan.task.start_from(base)
    except ConfigError as error:
        raise ConfigError(f"init: {init} holds a {type(base.config).__name__}{error}") from None
    if hasattr(plan.data, "tokenizer") and base.tokenizer is None:
        raise ConfigError(f"init: {init} has no tokenizer that regard can use, so it reads no texts ({base.lacks})")
    narrower = min(1.0, WIDTH / getattr(model, "width", WIDTH))
    lr = ADAPTER_LR * narrower if adapted else LR * narrower**1.5
    epochs = None if plan.training.epochs is None else min(plan.training.epochs, task.finetune_epochs)
    training = replace(plan.training, epochs=epochs, optimiser=AdamW(lr=lr, weight_decay=0.0 if adapted else 0.1))
    return replace(
        plan, init=lasting(init), data=_fitting_data(plan.data, base), task=task, model=model, training=training
    )


def lasting(init: Path) -> str:
    """A folder by its whole path, as runs with an adapter need it again; a name in the cache as it is."""
    return os.path.abspath(init) if init.exists() else str(init)


def same_init(init: Path, out: Path) -> str:
    """What a run that is resumed calls the model that it started from, where `init` means the same."""
    stored = stored_plan(out).init
    return stored if stored in (str(init), os.path.abspath(init)) else str(init)


def _fitting_data(data: Any, base: BaseModel) -> Any:
    """The data as the base reads it: with its tokenizer, in texts that its positions count, and squared alike."""
    if hasattr(data, "tokenizer"):
        data = replace(data, tokenizer=None)
    if "pixels" in base.extra:
        data = replace(data, resize=base.extra["pixels"]["resize"])
    position = getattr(base.config, "position", None)
    for name in LENGTHS:
        if isinstance(position, Learned) and hasattr(data, name):
            data = replace(data, **{name: min(getattr(data, name), position.length)})
    return data


@dataclass(frozen=True)
class Pretrained:
    """The pre-trained model of a plan."""

    base: BaseModel
    adapter: Adapter | None

    def start(self, config: Any) -> Started:
        return start_model(config, self.base.path, self.adapter)

    def keep(self, out: Path, init: str, sha256: str) -> None:
        """Write into a run where it comes from; `sha256` is that of the weights of the base."""
        keep_origin(self.base, out)
        if self.adapter is not None:
            write_base(out, init, sha256)


def read_pretrained(plan: Plan, workspace: Workspace) -> Pretrained | None:
    """What a plan's `init` names. A run that continues from its own checkpoint no longer needs it, unless it is frozen
    beside an adapter."""
    if plan.adapter is not None and (plan.init is None or plan.task.reads_init):
        raise ConfigError("adapter: is trained beside a pre-trained model; name one with --init")
    if plan.init is None or plan.task.reads_init:
        return None
    if plan.adapter is None and workspace.resume and RunFolder(workspace.out).checkpoints():
        return None
    base = describe_base(Path(plan.init))
    _check(plan, base)
    return Pretrained(base, plan.adapter)


def _check(plan: Plan, base: BaseModel) -> None:
    """The new model must have the shape of the pre-trained one, and read the same tokens."""
    if type(plan.model) is not type(base.config):
        kind = type(base.config).__name__
        raise ConfigError(f"model: {base.path} holds a {kind}, not a {type(plan.model).__name__}; leave it out")
    for name in (field.name for field in fields(plan.model) if field.name not in FREE):
        was, wanted = getattr(base.config, name), getattr(plan.model, name)
        if was != wanted:
            raise ConfigError(f"model.{name}: {base.path} was trained with {was}, not {wanted}; leave it out")
    if getattr(plan.data, "tokenizer", None) is not None:
        raise ConfigError(f"data.tokenizer: the model of {base.path} has its own tokenizer; leave it out")


def adapter_named(changes: dict[str, Any]) -> bool:
    """Whether changes of a plan ask for an adapter."""
    return changes.get("adapter") is not None and from_dict(Adapter | None, changes["adapter"], "adapter") is not None
