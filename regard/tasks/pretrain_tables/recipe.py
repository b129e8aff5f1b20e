"""The recipe that the shipped table weights were trained with."""

from regard.models import InContext
from regard.tables.prior import Prior
from regard.tasks.plan import Plan
from regard.tasks.pretrain_tables.task import InContextTables
from regard.train import WSD, AdamW, Muon, Training


def in_context_tables() -> Plan:
    return Plan(
        data=Prior(),
        task=InContextTables(),
        model=InContext(),
        training=Training(
            minutes=60,
            optimiser=Muon(lr=0.01, weight_decay=0.01, adamw=AdamW(lr=2e-3, weight_decay=0.01)),
            schedule=WSD(warmup=100, stable=0.7),
            ema=0.999,
            eval_every=500,
            checkpoint_minutes=2.0,
        ),
    )
