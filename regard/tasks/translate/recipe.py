"""Recipes for translators: from files of pairs, and for written dates (generated data, about a minute on two cores)."""

from dataclasses import replace
from typing import Any

from regard.data.text.dates import Dates
from regard.data.text.pair_files import PairFiles
from regard.models import RNN, Model, Transformer
from regard.parts import GELU, Additive, ReLU
from regard.tasks.plan import Plan
from regard.tasks.study_files import StudyFiles
from regard.tasks.translate.task import Translate
from regard.text import Auto
from regard.train import AdamW, Cosine, Training

MODELS: dict[str, Model] = {
    "transformer": Transformer(width=128, layers=4, heads=4, feed=ReLU(hidden=256), dropout=0.3),
    "rnn-attention": RNN(width=256, layers=1, attention=Additive(), dropout=0.4),
    "rnn": RNN(width=256, layers=1, attention=None, dropout=0.4),
}


def translator(train: tuple[str, ...], valid: tuple[str, ...], model: str = "transformer") -> Plan:
    """For about ten thousand sentence pairs: little data needs a small model and much dropout (Wu et al., 2021)."""
    return Plan(
        data=PairFiles(train=train, valid=valid, tokenizer=Auto(vocab=5000)),
        task=Translate(label_smoothing=0.1),
        model=MODELS[model],
        training=Training(
            batch_size=128,
            epochs=60,
            minutes=58,
            optimiser=AdamW(lr=3e-3),
            schedule=Cosine(warmup=1000),
            ema=0.999,
            eval_every=500,
        ),
    )


def dates(model: str | None = None) -> Plan:
    return Plan(
        data=Dates(),
        task=Translate(label_smoothing=0.0),
        model=MODELS[model] if model else Transformer(width=128, layers=2, heads=4, feed=GELU(hidden=256), dropout=0.0),
        training=Training(
            batch_size=64, steps=800, optimiser=AdamW(lr=2e-3), schedule=Cosine(warmup=100), eval_every=200
        ),
    )


def dates_quick() -> Plan:
    """Enough to see it run, not enough to be accurate."""
    return replace(dates(), data=Dates(train=2000, valid=50, test=50), training=replace(dates().training, steps=40))


def named_model(changes: dict[str, Any]) -> tuple[str | None, dict[str, Any]]:
    """A model named by `--model rnn-attention` and the like, apart from the other changes."""
    name = changes.get("model")
    if isinstance(name, str) and name in MODELS:
        return name, {key: value for key, value in changes.items() if key != "model"}
    return None, changes


def ablation_base(files: StudyFiles) -> Plan:
    files.need_valid("sentence pairs")
    plan = translator(files.data, files.valid)
    return replace(plan, training=replace(plan.training, batch_size=32))
