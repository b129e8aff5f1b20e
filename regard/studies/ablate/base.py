"""What an ablation starts from: the recipe's data and batches with the plain Transformer, sized to the budget.

The recipes carry what makes them learn fast (Muon, running means, learned mixes). Here each of these is a change to be
measured like any other, so the base is plain: pre-norm, LayerNorm, full attention, AdamW with a warm-up. Positions are
the recipe's: rotary in a language model, whose words are too quiet for waves to be added to them, else sinusoid.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal

from regard.core.errors import ConfigError
from regard.data.text.corpus import Corpus
from regard.models import BERT, GPT, NPT, Transformer
from regard.parts import GELU, PreNorm
from regard.recipes import Plan, classifier, language, own_table, translator
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


def base_plan(
    task: TaskName, data: tuple[str, ...], valid: tuple[str, ...], target: str | None, seconds: float
) -> Plan:
    """The plan that every change is made to, for runs of about so many seconds."""
    size = next(size for size in SIZES if seconds >= size.seconds)
    if task == "table":
        return _plain(_table(data, valid, target), size)
    if target is not None:
        raise ConfigError(f"--target: is for --task table, and {task} has none")
    if task == "lm":
        corpus = Corpus(files=data, valid=valid, length=size.length)
        return _plain(replace(language(data), data=corpus, model=GPT()), size)
    if task == "translate":
        if not valid:
            raise ConfigError("--valid: translation needs pairs to measure by")
        return _plain(translator(data, valid), size)
    return _plain(classifier(data, valid), size)


def _table(data: tuple[str, ...], valid: tuple[str, ...], target: str | None) -> Plan:
    if target is None:
        raise ConfigError("--target: name the column that the table's run shall tell")
    if len(data) != 1 or valid:
        raise ConfigError("--data: a table is one file, of which some rows are held out to measure by")
    return own_table(data[0], target)


def _plain(plan: Plan, size: Size) -> Plan:
    sizes: dict[str, Any] = {"width": size.width, "layers": size.layers, "heads": 4, "dropout": 0.1}
    model = plan.model
    if isinstance(model, GPT | BERT | Transformer):
        model = replace(model, feed=GELU(), wiring=PreNorm(), **sizes)
    elif isinstance(model, NPT):
        model = replace(model, **{**sizes, "width": min(64, size.width)})
    training = replace(
        plan.training,
        epochs=None,
        min_steps=0,
        minutes=None,
        steps=100,
        batch_size=plan.training.batch_size if isinstance(model, NPT) else min(plan.training.batch_size, 32),
        optimiser=AdamW(lr=2e-3),
        schedule=Cosine(warmup=100),
        grad_clip=1.0,
        ema=0.0,
        precision="float32",
        compile="never",
        keep_checkpoints=1,
    )
    return replace(plan, model=model, training=training)
