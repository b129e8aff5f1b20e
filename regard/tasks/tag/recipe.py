"""The recipe for a tagger: a small encoder over pieces of words, for some ten thousand sentences."""

from regard.data.text.tagged import TaggedFiles
from regard.models import BERT, TokenClassifierHead
from regard.parts import GELU, PreNorm, Rotary
from regard.tasks.plan import Plan
from regard.tasks.tag.task import Tag
from regard.train import AdamW, Cosine, Training


def tagger(train: tuple[str, ...], valid: tuple[str, ...]) -> Plan:
    return Plan(
        data=TaggedFiles(train=train, valid=valid),
        task=Tag(label_smoothing=0.1),
        model=BERT(
            width=192,
            layers=3,
            heads=6,
            position=Rotary(),
            wiring=PreNorm(),
            feed=GELU(hidden=512),
            head=TokenClassifierHead(),
            dropout=0.3,
        ),
        training=Training(
            batch_size=32,
            epochs=8,
            min_steps=500,
            minutes=25,
            optimiser=AdamW(lr=1e-3, weight_decay=0.1),
            schedule=Cosine(warmup=200),
            ema=0.999,
            eval_every=300,
        ),
    )
