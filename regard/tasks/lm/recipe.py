"""The recipe for a language model of about five million parameters, trained in minutes on a CPU."""

from dataclasses import replace

from regard.data.text.corpus import Corpus
from regard.models import GPT
from regard.parts import BigramEmbedding, EmbeddingSkip, RMSNorm, Rotary, Softcap, SquaredReLU, ZeroInit
from regard.tasks.lm.task import LanguageModel
from regard.tasks.plan import Plan
from regard.tasks.study_files import StudyFiles
from regard.train import WSD, AdamW, Muon, Training


def language_model(files: tuple[str, ...]) -> Plan:
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


def ablation_base(files: StudyFiles) -> Plan:
    corpus = Corpus(files=files.data, valid=files.valid, length=files.length)
    return replace(language_model(files.data), data=corpus, model=GPT())
