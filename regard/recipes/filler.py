"""An encoder that fills in words, learned from running text: to be used as it is, or to be tuned to labels."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from regard.core.errors import ConfigError
from regard.data.text.corpus import Corpus
from regard.data.text.masked import MaskedWindows
from regard.models import BERT, MaskedLMHead
from regard.parts import GELU, PreNorm, Rotary
from regard.recipes.encoded import Encoded, encoded
from regard.recipes.plan import Plan
from regard.recipes.samples import filling
from regard.recipes.training import Prepared, make_run
from regard.tasks import FillMasked
from regard.tasks.fill import fill_scores
from regard.text import BPE
from regard.train import WSD, AdamW, Muon, Ranks, Report, Training


def filler(files: tuple[str, ...]) -> Plan:
    return Plan(
        data=Corpus(files=files, length=128, tokenizer=BPE(vocab=8000)),
        task=FillMasked(),
        model=BERT(width=256, layers=4, heads=4, position=Rotary(), wiring=PreNorm(), feed=GELU(), dropout=0.1),
        training=Training(
            batch_size=32,
            minutes=10,
            optimiser=Muon(lr=0.02, weight_decay=0.1, adamw=AdamW(lr=2e-3, weight_decay=0.0)),
            schedule=WSD(warmup=50, stable=0.4),
        ),
    )


def train_filler(plan: Plan, out: Path, *, resume: bool = False, overwrite: bool = False) -> Report:
    return make_run(lambda ranks: prepare(plan, out, ranks, resume), out, resume=resume, overwrite=overwrite)


@contextmanager
def prepare(plan: Plan, out: Path, ranks: Ranks, resume: bool) -> Iterator[Prepared]:
    model = plan.model
    if not isinstance(plan.data, Corpus) or not isinstance(plan.task, FillMasked):
        raise ConfigError(f"data: {type(plan.data).__name__} holds no running text to fill in")
    if not isinstance(model, BERT) or not isinstance(model.head, MaskedLMHead):
        raise ConfigError(f"model: {type(model).__name__} fills in no words; choose BERT with the head MaskedLMHead")
    with encoded(plan.data, out, ranks, resume) as corpus:
        task = replace(plan.task, length=plan.task.length or plan.data.length)
        yield _prepared(plan, plan.data.length, task, model, corpus)


def _prepared(plan: Plan, length: int, task: FillMasked, model: BERT, corpus: Encoded) -> Prepared:
    tokenizer, training, share = corpus.tokenizer, plan.training, task.share
    valid = MaskedWindows(corpus.valid, task.length or length, tokenizer, share, training.batch_size)
    return Prepared(
        plan=replace(plan, task=task, model=replace(model, vocab=tokenizer.vocab)),
        train=MaskedWindows(corpus.train, length, tokenizer, share, training.batch_size, training.seed),
        valid=valid,
        tokenizer=tokenizer,
        score=lambda run, loss: fill_scores(run.model, valid),
        keep=corpus.keep,
        sample=filling(tokenizer, corpus.valid, task.length or length),
    )
