"""Runs from folders: our own, and those of other libraries, whose task follows from the model."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import torch
from torch import nn

from regard.core.config import to_dict
from regard.core.errors import UserError
from regard.interop import load, precision, read_folder
from regard.models import Model
from regard.store import CONFIG, TOKENIZER, RunFolder
from regard.store.loaded import Loaded, read_model_config, read_part
from regard.tasks.base import Run, Task
from regard.tasks.union import AnyTask
from regard.text import Tokenizer


def load_run(
    path: str | Path, *, dtype: str | torch.dtype | None = None, device: str | torch.device | None = None
) -> Run:
    """A trained model, ready to use, from a run folder, a Hugging Face folder or the Hugging Face cache.

    `dtype` is the precision of the weights in memory: None for float32, "auto" for that of a Hugging Face file.
    """
    path, task = Path(path), None
    if (path / CONFIG).exists():
        task = read_part(path, AnyTask | None, "task")
        loaded = load(path)
        _check_labels(task, loaded)
        if dtype not in (None, "auto"):
            loaded.model.to(precision(dtype))
    else:
        loaded = read_folder(path, dtype)
    if device is not None:
        loaded.model.to(device)
    return as_run(loaded, task)


def _check_labels(task: Task | None, loaded: Loaded) -> None:
    """Refuse a task whose labels are not as many as the scores of its model."""
    count = getattr(getattr(loaded.config, "head", loaded.config), "labels", None)
    labels = getattr(task, "labels", None)
    if labels is not None and count is not None and len(labels) != count:
        raise UserError(f"{loaded.path / CONFIG}: task.labels: has {len(labels)} labels, the model {count}")


def as_run(loaded: Loaded, task: Task | None = None) -> Run:
    task = task or adopt(loaded.config, loaded.extra)
    extra = loaded.extra if task is None else {**loaded.extra, **task.read_extra(loaded.path)}
    return Run(loaded.path, loaded.config, loaded.model, loaded.tokenizer, extra, task)


def adopt(config: Model, extra: Mapping[str, Any]) -> Task | None:
    """The task for a model whose folder names none."""
    kinds: tuple[type[Task], ...] = get_args(AnyTask)
    return next((task for kind in kinds if (task := kind.adopt(config, extra)) is not None), None)


def read_settings(path: Path) -> tuple[Model, Task | None]:
    """The model and the task of a run folder, without its weights."""
    config = read_model_config(path)
    return config, read_part(path, AnyTask | None, "task") or adopt(config, {})


def save_run(
    path: Path, config: Model, model: nn.Module, task: Task | None = None, tokenizer: Tokenizer | None = None
) -> None:
    """A model made in Python as a run folder, which every verb takes."""
    with RunFolder(path).open() as folder:
        folder.write_config({"task": to_dict(task), "model": to_dict(config)})
        folder.write_weights(model.state_dict())
        if tokenizer is not None:
            tokenizer.save(path / TOKENIZER)
