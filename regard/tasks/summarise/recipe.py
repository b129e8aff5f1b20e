"""The recipe for a summariser: a small Transformer for some ten thousand short documents."""

from dataclasses import replace

from regard.core.config import override
from regard.data.text.pair_files import PairFiles
from regard.models import Transformer
from regard.parts import Copy, ReLU
from regard.tasks.plan import Plan
from regard.tasks.study_files import StudyFiles
from regard.tasks.summarise.extractor import Extract
from regard.tasks.summarise.task import Summarise
from regard.train import AdamW, Cosine, Training


def summariser(train: tuple[str, ...], valid: tuple[str, ...]) -> Plan:
    return Plan(
        data=PairFiles(train=train, valid=valid),
        task=Summarise(extract=Extract()),
        model=Transformer(width=192, layers=3, heads=4, feed=ReLU(hidden=512), dropout=0.2, copy=Copy()),
        training=Training(
            batch_size=64,
            epochs=20,
            minutes=20,
            optimiser=AdamW(lr=1e-3),
            schedule=Cosine(warmup=400),
            ema=0.999,
            eval_every=500,
        ),
    )


def ablation_base(files: StudyFiles) -> Plan:
    files.need_valid("documents and summaries")
    # Without the extractor: what is compared is the network.
    plan = override(summariser(files.data, files.valid), {"task.extract": None})
    return replace(plan, training=replace(plan.training, batch_size=32))
