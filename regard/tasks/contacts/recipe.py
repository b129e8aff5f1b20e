"""The recipe that the shipped contact weights were trained with."""

from regard.data.alignments.examples import AlignmentFamilies
from regard.models import Evoformer
from regard.tasks.contacts.task import Contacts
from regard.tasks.plan import Plan
from regard.train import AdamW, Cosine, Training


def contact_predictor(train: tuple[str, ...], valid: tuple[str, ...] = ()) -> Plan:
    return Plan(
        data=AlignmentFamilies(train=train, valid=valid),
        task=Contacts(),
        model=Evoformer(width=32, pair_width=64, layers=4, outer=16, dropout=0.1),
        training=Training(
            batch_size=2,  # families
            steps=700,
            optimiser=AdamW(lr=3e-3, weight_decay=0.05),
            schedule=Cosine(warmup=30),
            ema=0.99,
            eval_every=250,
            compile="never",  # families differ in length
        ),
    )
