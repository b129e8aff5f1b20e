"""A classifier from labelled images."""

import shutil
import statistics
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from regard.core.errors import ConfigError, UserError
from regard.data.images.augment import Augment
from regard.data.images.image_cache import Album, View, read_album, write_album
from regard.data.images.image_files import Part, Source, find_images
from regard.data.images.images import ImageFiles, LabelledImages, Scale
from regard.data.images.pixels import ImageError, Size
from regard.data.prefetch import Ahead
from regard.data.split import held_out
from regard.models import ViT
from regard.parts import Convolutions, EmbeddingSkip, Query, RMSNorm, SquaredReLU, ZeroInit
from regard.recipes.plan import Plan
from regard.recipes.training import Prepared, make_run
from regard.run import Run
from regard.tasks import ClassifyImages
from regard.tasks.classify import label_scores
from regard.tasks.classify_images import pixel_chances
from regard.train import WSD, AdamW, Muon, Ranks, Report, Training

MOST_SIDE = 64  # pixels that are read along a side where nobody says how many
ACROSS = 8  # patches along a side, about
LARGEST_PATCH = 16
SHOWN = 5  # images that could not be read, told by name


def image_classifier(train: tuple[str, ...], valid: tuple[str, ...]) -> Plan:
    return Plan(
        data=ImageFiles(train=train, valid=valid, augment=Augment(crop=0.08, erase=0.25, mix=0.1)),
        task=ClassifyImages(smoothing=0.05),
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
            dropout=0.0,  # augmentation does its work, and is cheaper
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


def train_image_classifier(plan: Plan, out: Path, *, resume: bool = False, overwrite: bool = False) -> Report:
    return make_run(lambda ranks: prepare(plan, out, ranks, resume), out, resume=resume, overwrite=overwrite)


@contextmanager
def prepare(plan: Plan, out: Path, ranks: Ranks, resume: bool) -> Iterator[Prepared]:
    """Images are decoded beside the folder, and moved into it once the folder is ours."""
    if not isinstance(plan.data, ImageFiles) or not isinstance(plan.task, ClassifyImages):
        raise ConfigError(f"data: {type(plan.data).__name__} holds no images")
    if not isinstance(plan.model, ViT):
        raise ConfigError(f"model: {type(plan.model).__name__} does not read images; choose ViT")
    kept, beside = out / "images", out.parent / f".{out.name}.images.part"
    place = kept if resume and kept.exists() else beside
    train = Sources(plan.data.train, "train")
    model = plan.model if place == kept else sized(plan.model, train.sizes())
    view = View(model.image, model.channels, plan.data.framing)
    try:
        with ranks.first_only() as first:
            if first and place == beside:
                shutil.rmtree(beside, ignore_errors=True)
                print("decoding the images", file=sys.stderr)
                _decode(beside, train, Sources(plan.data.valid, "test"), view)
        ready = _prepared(plan, plan.data, plan.task, model, place, kept, ranks)
        with Ahead(ready.train) as ahead:
            yield replace(ready, train=ahead)
    finally:
        if ranks.first:
            shutil.rmtree(beside, ignore_errors=True)


@dataclass(frozen=True)
class Sources:
    """Several folders or files as one."""

    names: Sequence[str]
    part: Part

    def each(self) -> list[Source]:
        return [find_images(Path(name), self.part) for name in self.names]

    def sizes(self) -> list[Size]:
        sizes = [size for source in self.each() for size in source.sizes()]
        if not sizes:
            raise UserError(f"{', '.join(self.names)}: none of the files can be read as an image")
        return sizes


def sized(model: ViT, sizes: Sequence[Size]) -> ViT:
    """The sizes that nobody chose, as they suit images of these."""
    channels = model.channels or max(size[2] for size in sizes)
    usual = min(MOST_SIDE, round(statistics.median(min(size[:2]) for size in sizes)))
    side, shrink = model.image or usual, model.stem.shrink
    patch = model.patch or _patch(side, shrink, must_divide=bool(model.image))
    return replace(model, image=-(-side // patch) * patch, patch=patch, channels=channels)


def _patch(side: int, shrink: int, *, must_divide: bool) -> int:
    """The patch with which about eight stand side by side."""
    sizes = [n for n in range(shrink, LARGEST_PATCH + 1, shrink) if not must_divide or side % n == 0]
    if not sizes:
        raise ConfigError(f"model.image: {side} is not divisible by {shrink}, by which the stem shrinks")
    return min(sizes, key=lambda size: abs(size - side / ACROSS))


def _decode(place: Path, train: Sources, valid: Sources, view: View) -> None:
    place.mkdir(parents=True)
    write_album(chain.from_iterable(train.each()), place / "train", view)
    if valid.names:
        write_album(chain.from_iterable(valid.each()), place / "valid", view)


def _prepared(
    plan: Plan, data: ImageFiles, task: ClassifyImages, model: ViT, place: Path, kept: Path, ranks: Ranks
) -> Prepared:
    train = read_album(place / "train")
    valid = read_album(place / "valid") if data.valid else train
    labels = task.labels or tuple(sorted(set(train.labels)))
    if len(labels) < 2:
        raise UserError(f"{data.train[0]}: every image has the label {labels[0]!r}; there must be two to tell apart")
    rows, measured = _rows(data, train, valid)
    scale = task.scale if task.mean else Scale.of(train.images, rows)
    if ranks.first:
        _tell(train, valid, model, labels, len(rows), len(measured))
    task = replace(task, labels=labels, framing=data.framing, mean=scale.mean, spread=scale.spread)
    numbers, batch, seed = train.numbers(labels), plan.training.batch_size, plan.training.seed

    def score(run: Run, loss: float) -> dict[str, float]:
        chosen: list[int] = []
        for first in range(0, len(measured), batch):
            images = np.asarray(valid.images[measured[first : first + batch]])
            chosen += pixel_chances(run.model, task, images).argmax(-1).tolist()
        return label_scores([labels[number] for number in chosen], [valid.labels[row] for row in measured])

    return Prepared(
        plan=replace(plan, task=task, model=replace(model, labels=len(labels))),
        train=LabelledImages(train.images, numbers, rows, scale, batch, seed, data.augment),
        valid=LabelledImages(valid.images, valid.numbers(labels), measured, scale, batch),
        tokenizer=None,
        score=score,
        keep=lambda: None if place == kept else place.replace(kept),
    )


def _rows(data: ImageFiles, train: Album, valid: Album) -> tuple[list[int], list[int]]:
    """The images to learn from, and those to measure by."""
    if data.valid:
        return list(range(len(train.labels))), list(range(len(valid.labels)))
    apart = held_out(train.labels, data.valid_share)
    if not apart:
        raise UserError(f"{data.train[0]}: every label has one image only, so none is held out; name some with --valid")
    chosen = set(apart)
    return [row for row in range(len(train.labels)) if row not in chosen], apart


def _tell(train: Album, valid: Album, model: ViT, labels: Sequence[str], rows: int, measured: int) -> None:
    skipped = train.skipped if valid is train else (*train.skipped, *valid.skipped)
    tell_skipped(skipped)
    kind = "grey" if model.channels == 1 else f"{model.channels} channels"
    print(
        f"{rows:,} images to learn from and {measured:,} to measure by, {len(labels):,} labels; "
        f"read as {model.image}×{model.image}, {kind}, in patches of {model.patch}×{model.patch}",
        file=sys.stderr,
    )


def tell_skipped(skipped: Sequence[str]) -> None:
    for line in skipped[:SHOWN]:
        print(f"skipped: {line}", file=sys.stderr)
    if skipped:
        more = f", {len(skipped) - SHOWN:,} of them not named here" if len(skipped) > SHOWN else ""
        count = f"{len(skipped):,} image{'s' if len(skipped) > 1 else ''}"
        print(f"{count} could not be read{more}; the others are used", file=sys.stderr)


def measure_images(run: Run, files: tuple[str, ...]) -> dict[str, Any]:
    """Accuracy and macro-F1 over all that can be read; of files that hold two parts, over the one to test by."""
    assert isinstance(run.task, ClassifyImages)
    answers, references, skipped = [], [], []
    for one, answer in run.look(chain.from_iterable(Sources(files, "test").each())):
        if isinstance(answer, ImageError):
            skipped.append(str(answer))
            continue
        if one.label not in run.task.labels:
            raise UserError(f"{one.where}: the label {one.label!r} does not occur in the training images")
        answers.append(run.task.labels[int(answer.argmax())])
        references.append(one.label)
    tell_skipped(skipped)
    if not answers:
        raise UserError(f"{', '.join(files)}: no image could be read")
    return {**label_scores(answers, references), "images": len(answers), "skipped": len(skipped)}
