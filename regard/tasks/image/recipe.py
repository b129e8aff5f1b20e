"""The recipe for an image classifier: a small Vision Transformer with a convolutional stem."""

from dataclasses import replace

from regard.data.images.augment import Augment
from regard.data.images.images import ImageFiles
from regard.models import ViT
from regard.parts import Convolutions, EmbeddingSkip, Query, RMSNorm, SquaredReLU, ZeroInit
from regard.tasks.image.task import ClassifyImages
from regard.tasks.plan import Plan
from regard.tasks.study_files import StudyFiles
from regard.train import WSD, AdamW, Muon, Training


def image_classifier(train: tuple[str, ...], valid: tuple[str, ...]) -> Plan:
    return Plan(
        data=ImageFiles(train=train, valid=valid, augment=Augment(crop=0.08, erase=0.25, mix=0.1)),
        task=ClassifyImages(label_smoothing=0.05),
        model=ViT(
            image=0,
            patch=0,
            channels=0,
            stem=Convolutions(),
            pool=Query(),
            width=128,
            layers=6,
            heads=4,
            feed=SquaredReLU(),
            norm=RMSNorm(),
            query_norm=RMSNorm(),
            bias=False,
            embedding_skip=EmbeddingSkip(),
            init=ZeroInit(),
            dropout=0.0,  # augmentation regularises instead, and is cheaper
        ),
        training=Training(
            batch_size=128,
            epochs=100,
            min_steps=500,
            minutes=10,
            optimiser=Muon(lr=0.02, weight_decay=0.1, adamw=AdamW(lr=2e-3, weight_decay=0.05, beta2=0.95)),
            schedule=WSD(warmup=20, stable=0.3),
            grad_clip=None,
            eval_every=500,
        ),
    )


def ablation_base(files: StudyFiles) -> Plan:
    plan = image_classifier(files.data, files.valid)
    model = ViT(image=0, patch=0, channels=0, width=128)
    return replace(plan, model=model, training=replace(plan.training, batch_size=32))
