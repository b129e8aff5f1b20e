"""The recipes for a text classifier."""

from dataclasses import replace

from regard.core.config import override
from regard.data.text.labelled import LabelFiles
from regard.models import BERT, ClassifierHead
from regard.parts import GELU, Neighbours, PreNorm, Sinusoid
from regard.tasks.classify.ngram_model import Ngrams
from regard.tasks.classify.task import Classify
from regard.tasks.fill.recipe import masked_lm
from regard.tasks.plan import Plan
from regard.tasks.study_files import StudyFiles
from regard.train import AdamW, Cosine, Training


def classifier(train: tuple[str, ...], valid: tuple[str, ...]) -> Plan:
    return Plan(
        data=LabelFiles(train=train, valid=valid),
        task=Classify(label_smoothing=0.1, token_dropout=0.2, ngrams=Ngrams()),
        model=BERT(
            width=128,
            layers=1,
            heads=4,
            position=Sinusoid(),
            neighbours=Neighbours(),
            wiring=PreNorm(),
            feed=GELU(hidden=256),
            head=ClassifierHead(pooling="mean_max"),
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


def pretrained_classifier(train: tuple[str, ...], valid: tuple[str, ...], unlabelled: tuple[str, ...]) -> Plan:
    """The plan of a classifier that is pre-trained on unlabelled texts in the same run: a wider and deeper encoder."""
    plan, encoder = classifier(train, valid), masked_lm(unlabelled).model
    assert isinstance(plan.data, LabelFiles)
    assert isinstance(encoder, BERT)
    return replace(
        plan,
        data=replace(plan.data, unlabelled=unlabelled),
        model=replace(encoder, head=ClassifierHead(pooling="mean"), dropout=0.1),
        training=replace(plan.training, epochs=4, min_steps=400, optimiser=AdamW(lr=5e-4, weight_decay=0.1)),
    )


def ablation_base(files: StudyFiles) -> Plan:
    """Without the n-gram model: what is compared is the network."""
    plan = classifier(files.data, files.valid)
    return override(plan, {"task.ngrams": None, "training.batch_size": 32})
