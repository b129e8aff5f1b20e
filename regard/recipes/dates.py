"""Dates: a small encoder–decoder that turns written dates into ISO dates, in about a minute on two cores."""

from dataclasses import replace

from regard.data.text.dates import Dates
from regard.models import Transformer
from regard.parts import GELU
from regard.recipes.plan import Plan
from regard.tasks import Translate
from regard.train import AdamW, Cosine, Training


def dates() -> Plan:
    return Plan(
        data=Dates(),
        task=Translate(smoothing=0.0),
        model=Transformer(
            width=128,
            layers=2,
            heads=4,
            feed=GELU(hidden=256),
            dropout=0.0,
        ),
        training=Training(
            batch_size=64, steps=800, optimiser=AdamW(lr=2e-3), schedule=Cosine(warmup=100), eval_every=200
        ),
    )


def dates_quick() -> Plan:
    """Enough to see it run, not enough to be right."""
    return replace(dates(), data=Dates(train=2000, valid=50, test=50), training=replace(dates().training, steps=40))
