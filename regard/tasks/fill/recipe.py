"""The recipe for a masked language model: to be used as it is, or fine-tuned to classify."""

from dataclasses import replace

from regard.data.text.corpus import Corpus
from regard.models import BERT
from regard.parts import GELU, PreNorm, Rotary
from regard.tasks.fill.task import MaskedLM
from regard.tasks.plan import Plan
from regard.tasks.study_files import StudyFiles
from regard.text import BPE
from regard.train import WSD, AdamW, Muon, Training


def masked_lm(files: tuple[str, ...]) -> Plan:
    return Plan(
        data=Corpus(files=files, length=128, tokenizer=BPE(vocab=8000)),
        task=MaskedLM(),
        model=BERT(width=256, layers=4, heads=4, position=Rotary(), wiring=PreNorm(), feed=GELU(), dropout=0.1),
        training=Training(
            batch_size=32,
            minutes=10,
            optimiser=Muon(lr=0.02, weight_decay=0.1, adamw=AdamW(lr=2e-3, weight_decay=0.0)),
            schedule=WSD(warmup=50, stable=0.4),
        ),
    )


def ablation_base(files: StudyFiles) -> Plan:
    corpus = Corpus(files=files.data, valid=files.valid, length=files.length, tokenizer=BPE(vocab=8000))
    return replace(masked_lm(files.data), data=corpus)
