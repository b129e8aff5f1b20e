"""Recipes for a text classifier: from scratch, and fine-tuned from a pre-trained encoder."""

from dataclasses import replace
from pathlib import Path

from regard.core.config import override
from regard.data.text.labelled import LabelFiles
from regard.models import BERT, ClassifierHead
from regard.parts import GELU, PreNorm, Sinusoid
from regard.tasks.classify.ngram_model import Ngrams
from regard.tasks.classify.task import Classify
from regard.tasks.plan import Plan
from regard.tasks.pretrained import load_encoder
from regard.tasks.study_files import StudyFiles
from regard.train import AdamW, Cosine, Training


def classifier(train: tuple[str, ...], valid: tuple[str, ...]) -> Plan:
    return Plan(
        data=LabelFiles(train=train, valid=valid),
        task=Classify(label_smoothing=0.1, token_dropout=0.1, ngrams=Ngrams()),
        model=BERT(
            width=128,
            layers=2,
            heads=4,
            position=Sinusoid(),
            wiring=PreNorm(),
            feed=GELU(hidden=256),
            head=ClassifierHead(pooling="mean"),
            dropout=0.3,
        ),
        training=Training(
            batch_size=64,
            epochs=5,
            min_steps=1600,  # of a few thousand sentences the network learns little in half as many
            optimiser=AdamW(lr=1e-3, weight_decay=0.1),
            schedule=Cosine(warmup=100),
            ema=0.99,
            eval_every=100,
        ),
    )


def finetuned(plan: Plan, init: Path) -> Plan:
    """The plan of a classifier that starts from a pre-trained encoder: a lower learning rate and fewer epochs."""
    pretrained, training = load_encoder(init), plan.training
    assert isinstance(plan.data, LabelFiles)
    return replace(
        plan,
        init=str(init),
        data=replace(plan.data, tokenizer=None),
        model=replace(pretrained.model, head=ClassifierHead(pooling="mean"), dropout=0.1),
        training=replace(training, epochs=4, optimiser=AdamW(lr=5e-4, weight_decay=0.1)),
    )


def ablation_base(files: StudyFiles) -> Plan:
    """Without the n-gram model: what is compared is the network."""
    plan = classifier(files.data, files.valid)
    return override(plan, {"task.ngrams": None, "training.batch_size": 32})
