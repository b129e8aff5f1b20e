"""The base of an ablation: the data and batches of a task's recipe with a plain Transformer, sized to the budget.

The recipes contain what makes them learn fast (Muon, averaged weights, embedding skips). Here each of these is a change
to be measured like any other, so the base is plain: pre-norm, LayerNorm, full attention, AdamW with warm-up. Positions
are the recipe's: rotary in a language model, whose embeddings are too small to add sinusoids to, elsewhere sinusoids.

There is no list of tasks: each declares its base in its own folder (`regard.tasks.study_files`).
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from importlib import import_module
from typing import Any, get_args

from regard.core.errors import ConfigError, did_you_mean
from regard.parts import GELU, PreNorm
from regard.tasks.plan import Plan
from regard.tasks.study_files import StudyFiles
from regard.tasks.union import AnyTask
from regard.train import AdamW, Cosine


@dataclass(frozen=True)
class Size:
    """Width, layers and length of a model that learns something in so many seconds on one core."""

    seconds: float
    width: int
    layers: int
    length: int


SIZES = (Size(400, 128, 4, 256), Size(120, 96, 4, 128), Size(25, 64, 3, 96), Size(0, 48, 2, 64))


def ablation_bases() -> dict[str, Callable[[StudyFiles], Plan]]:
    """By the verb of their task, the functions `ablation_base` of all recipes that have one."""
    bases = {}
    for task in get_args(AnyTask):
        recipe = import_module(f"{task.__module__.rpartition('.')[0]}.recipe")
        if hasattr(recipe, "ablation_base"):
            bases[task.verb] = recipe.ablation_base
    return bases


def base_plan(
    task: str, data: tuple[str, ...], valid: tuple[str, ...] = (), target: str | None = None, seconds: float = 0.0
) -> Plan:
    """The plan that every change starts from, for runs of about so many seconds."""
    bases = ablation_bases()
    if task not in bases:
        raise ConfigError(f"--task {task}: has no ablation; {did_you_mean(task, bases)}")
    size = next(size for size in SIZES if seconds >= size.seconds)
    plan = bases[task](StudyFiles(data, valid, target, size.length))
    if target is not None and not hasattr(plan.data, "target"):
        raise ConfigError(f"--target: is for tables; --task {task} has no target column")
    return _plain(plan, size)


def _plain(plan: Plan, size: Size) -> Plan:
    """The plan with the plain block, the plain optimiser and the size of the budget."""
    known = {field.name for field in fields(plan.model)}
    width = min(size.width, getattr(plan.model, "width", size.width))  # no wider than the task's own model
    plain: dict[str, Any] = {"feed": GELU(), "wiring": PreNorm(), "dropout": 0.1, "heads": 4}
    plain |= {"width": width, "layers": size.layers}
    training = replace(
        plan.training,
        epochs=None,
        min_steps=0,
        minutes=None,
        steps=100,
        optimiser=AdamW(lr=2e-3),
        schedule=Cosine(warmup=100),
        grad_clip=1.0,
        ema=0.0,
        precision="float32",
        compile="never",
        keep_checkpoints=1,
    )
    settings = {name: value for name, value in plain.items() if name in known}
    return replace(plan, model=replace(plan.model, **settings), training=training)
