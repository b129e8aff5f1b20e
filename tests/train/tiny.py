"""A run so small that it trains in a second, for tests of everything around the model."""

from dataclasses import replace
from pathlib import Path

from regard.data.text.dates import Dates
from regard.tasks import Translate, save_run
from regard.tasks.plan import Plan
from regard.tasks.training import train
from regard.tasks.translate.recipe import dates
from regard.text import Characters
from regard.train import Report


def tiny_plan(**training: object) -> Plan:
    plan = dates()
    settings = {"batch_size": 8, "steps": 12, "eval_every": 4, "log_every": 1, "checkpoint_minutes": 1e-9, **training}
    return replace(
        plan,
        data=Dates(train=40, valid=8, test=4),
        model=replace(plan.model, width=16, layers=1, heads=2, dropout=0.2, feed=replace(plan.model.feed, hidden=16)),
        training=replace(plan.training, **settings),
    )


def train_tiny(out: Path, resume: bool = False, **training: object) -> Report:
    return train(tiny_plan(**training), out, resume=resume)


def save_untrained(out: Path) -> None:
    """A translator that has learned nothing, for tests of what other tasks refuse."""
    tokenizer = Characters().train(["0123456789-"])
    config = replace(tiny_plan().model, vocab=tokenizer.vocab)
    save_run(out, config, config.build(), Translate(), tokenizer)


def weights_of(out: Path) -> bytes:
    return (out / "model.safetensors").read_bytes()
