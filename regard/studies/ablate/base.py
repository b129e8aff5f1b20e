"""The base of an ablation: the data and batches of a task's recipe with a plain Transformer, sized to the budget.

The recipes contain what makes them learn fast (Muon, averaged weights, embedding skips). Here each of these is a change
to be measured like any other, so the base is plain: pre-norm, LayerNorm, full attention, AdamW with warm-up. Positions
are the recipe's: rotary in a language model, whose embeddings are too small to add sinusoids to, elsewhere sinusoids.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, get_args

from regard.core.errors import ConfigError
from regard.data.text.corpus import Corpus
from regard.models import GPT
from regard.parts import GELU, PreNorm
from regard.tasks.classify.recipe import classifier
from regard.tasks.lm.recipe import language_model
from regard.tasks.plan import Plan
from regard.tasks.table.recipe import table_npt
from regard.tasks.translate.recipe import translator
from regard.train import AdamW, Cosine

TaskName = Literal["lm", "translate", "classify", "table"]


@dataclass(frozen=True)
class Size:
    """Width, layers and length of a model that learns something in so many seconds on one core."""

    seconds: float
    width: int
    layers: int
    length: int


SIZES = (Size(400, 128, 4, 256), Size(120, 96, 4, 128), Size(25, 64, 3, 96), Size(0, 48, 2, 64))


@dataclass(frozen=True)
class Files:
    """What the user gave: data files, validation files, and the target column of a table."""

    data: tuple[str, ...]
    valid: tuple[str, ...] = ()
    target: str | None = None


def base_plan(
    task: TaskName, data: tuple[str, ...], valid: tuple[str, ...], target: str | None, seconds: float
) -> Plan:
    """The plan that every change starts from, for runs of about so many seconds."""
    size = next(size for size in SIZES if seconds >= size.seconds)
    return RECIPES[task](Files(data, valid, target), size)


def loss_unit(task: TaskName, plan: Plan) -> str:
    if task == "table":
        classes = getattr(plan.model, "categories", (0,))[-1]
        return "nats per cell" if classes else "mean squared error of the standardised target"
    return {"classify": "nats per text"}.get(task, "nats per token")


def _language(files: Files, size: Size) -> Plan:
    _no_target("lm", files)
    corpus = Corpus(files=files.data, valid=files.valid, length=size.length)
    return _plain(replace(language_model(files.data), data=corpus, model=GPT()), size)


def _translate(files: Files, size: Size) -> Plan:
    _no_target("translate", files)
    if not files.valid:
        raise ConfigError("--valid: translation needs sentence pairs to validate on")
    return _plain(translator(files.data, files.valid), size)


def _classify(files: Files, size: Size) -> Plan:
    _no_target("classify", files)
    return _plain(classifier(files.data, files.valid), size)


def _table(files: Files, size: Size) -> Plan:
    if files.target is None:
        raise ConfigError("--target: name the column of the table to predict")
    if len(files.data) != 1 or files.valid:
        raise ConfigError("--data: a table is one file; some of its rows are held out for validation")
    plan = table_npt(files.data[0], files.target)
    return _plain(plan, replace(size, width=min(64, size.width)), batch_size=plan.training.batch_size)


def _no_target(task: str, files: Files) -> None:
    if files.target is not None:
        raise ConfigError(f"--target: is for --task table; {task} has none")


RECIPES: Mapping[str, Callable[[Files, Size], Plan]] = dict(
    zip(get_args(TaskName), (_language, _translate, _classify, _table), strict=True)
)


def _plain(plan: Plan, size: Size, batch_size: int = 32) -> Plan:
    """The recipe's plan with the plain Transformer and the plain optimiser."""
    known = {field.name for field in fields(plan.model)}
    plain: dict[str, Any] = {"feed": GELU(), "wiring": PreNorm(), "dropout": 0.1, "heads": 4}
    plain |= {"width": size.width, "layers": size.layers}
    training = replace(
        plan.training,
        epochs=None,
        min_steps=0,
        minutes=None,
        steps=100,
        batch_size=min(plan.training.batch_size, batch_size),
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
