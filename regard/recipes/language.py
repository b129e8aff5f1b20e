"""A language model from running text."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from regard.core.errors import ConfigError
from regard.data.text.corpus import Corpus
from regard.data.text.windows import Windows
from regard.models import GPT, RNNLM
from regard.parts import BigramEmbedding, EmbeddingSkip, RMSNorm, Rotary, Softcap, SquaredReLU, ZeroInit
from regard.recipes.encoded import Encoded, encoded
from regard.recipes.plan import Plan
from regard.recipes.samples import going_on
from regard.recipes.training import Prepared, make_run
from regard.run import Run
from regard.tasks import LanguageModel
from regard.tasks.language import count_characters, language_scores
from regard.train import WSD, AdamW, Muon, Ranks, Report, Training


def language(files: tuple[str, ...]) -> Plan:
    return Plan(
        data=Corpus(files=files),
        task=LanguageModel(),
        model=GPT(
            width=256,
            layers=6,
            heads=4,
            position=Rotary(),
            feed=SquaredReLU(),
            norm=RMSNorm(),
            query_norm=RMSNorm(),
            bias=False,
            tied=False,
            embedding_skip=EmbeddingSkip(),
            init=ZeroInit(),
            bigram=BigramEmbedding(),
            logit_softcap=Softcap(20.0),
            dropout=0.1,
        ),
        training=Training(
            batch_size=16,
            minutes=10,
            optimiser=Muon(lr=0.02, weight_decay=0.1, adamw=AdamW(lr=4e-3, weight_decay=0.0, beta1=0.8, beta2=0.95)),
            schedule=WSD(stable=0.4),
            grad_clip=None,
        ),
    )


def train_language_model(plan: Plan, out: Path, *, resume: bool = False, overwrite: bool = False) -> Report:
    return make_run(lambda ranks: prepare(plan, out, ranks, resume), out, resume=resume, overwrite=overwrite)


@contextmanager
def prepare(plan: Plan, out: Path, ranks: Ranks, resume: bool) -> Iterator[Prepared]:
    if not isinstance(plan.data, Corpus) or not isinstance(plan.task, LanguageModel):
        raise ConfigError(f"data: {type(plan.data).__name__} holds no running text to go on from")
    if not isinstance(plan.model, GPT | RNNLM):
        kind = type(plan.model).__name__
        raise ConfigError(f"model: {kind} does not write running text; choose GPT or RNNLM")
    with encoded(plan.data, out, ranks, resume) as corpus:
        yield _prepared(plan, plan.data.length, plan.task.length or plan.data.length, plan.model, corpus)


def _prepared(plan: Plan, length: int, measured: int, model: GPT | RNNLM, corpus: Encoded) -> Prepared:
    tokenizer, valid = corpus.tokenizer, corpus.valid

    def score(run: Run, loss: float) -> dict[str, float]:
        return language_scores(loss, len(valid) - 1, count_characters(tokenizer, valid[1:]))

    return Prepared(
        plan=replace(plan, task=LanguageModel(measured), model=replace(model, vocab=tokenizer.vocab)),
        train=Windows(corpus.train, length, plan.training.batch_size, plan.training.seed),
        valid=Windows(valid, measured, plan.training.batch_size),
        tokenizer=tokenizer,
        score=score,
        keep=corpus.keep,
        sample=going_on(tokenizer, valid, measured),
    )
