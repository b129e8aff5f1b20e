"""Preparing images: they are decoded once, beside the run folder, and moved into it when training starts."""

import logging
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from regard.core.errors import ConfigError, UserError
from regard.data.images.image_cache import ImageCache, ImageFormat, read_image_cache, write_image_cache
from regard.data.images.images import ImageFiles, LabelledImages, Normalisation
from regard.data.prefetch import Prefetch
from regard.data.split import validation_rows
from regard.models import ViT
from regard.tasks.base import Prepared, Run, Settings, Workspace
from regard.tasks.image.answers import pixel_probabilities
from regard.tasks.image.sizes import Sources, with_sizes
from regard.tasks.labels import label_scores

SHOWN = 5  # images that could not be read, by name

log = logging.getLogger(__name__)


@contextmanager
def prepare_images(task: Any, plan: Settings, workspace: Workspace) -> Iterator[Prepared]:
    data, out, ranks = plan.data, workspace.out, workspace.ranks
    if not isinstance(data, ImageFiles):
        raise ConfigError(f"data: {type(data).__name__} holds no images")
    if not isinstance(plan.model, ViT):
        raise ConfigError(f"model: {type(plan.model).__name__} reads no images; choose ViT")
    final, temporary = out / "images", out.parent / f".{out.name}.images.part"
    place = final if workspace.resume and final.exists() else temporary
    train = Sources(data.train, "train", data.columns)
    sizes_known = plan.model.image and plan.model.patch and plan.model.channels
    model = plan.model if place == final and sizes_known else with_sizes(plan.model, train.sizes())
    image_format = ImageFormat(model.image, model.channels, data.resize)
    try:
        with ranks.first_only() as first:
            if first and place == temporary:
                shutil.rmtree(temporary, ignore_errors=True)
                log.info("decoding the images")
                _decode(temporary, train, Sources(data.valid, "test", data.columns), image_format)
        ready = _prepared(task, plan, model, place, log_notes=ranks.first)
        keep = (lambda: None) if place == final else (lambda: place.replace(final))
        with Prefetch(ready.train) as prefetch:
            yield replace(ready, train=prefetch, keep=keep)
    finally:
        if ranks.first:
            shutil.rmtree(temporary, ignore_errors=True)


def _decode(place: Path, train: Sources, valid: Sources, image_format: ImageFormat) -> None:
    place.mkdir(parents=True)
    write_image_cache(chain.from_iterable(train.each()), place / "train", image_format)
    if valid.names:
        write_image_cache(chain.from_iterable(valid.each()), place / "valid", image_format)


def _prepared(task: Any, plan: Settings, model: ViT, place: Path, *, log_notes: bool) -> Prepared:
    data, batch_size, seed = plan.data, plan.training.batch_size, plan.training.seed
    train = read_image_cache(place / "train")
    valid = read_image_cache(place / "valid") if data.valid else train
    labels = task.labels or tuple(sorted(set(train.labels)))
    if len(labels) < 2:
        raise UserError(f"{data.train[0]}: every image has the label {labels[0]!r}; there must be at least two labels")
    rows, held_out = _rows(data, train, valid)
    normalise = task.normalise if task.mean else Normalisation.estimate(train.images, rows)
    if log_notes:
        _note(train, valid, model, labels, (len(rows), len(held_out)))

    def score(run: Run, loss: float) -> dict[str, float]:
        chosen: list[int] = []
        for first in range(0, len(held_out), batch_size):
            images = np.asarray(valid.images[held_out[first : first + batch_size]])
            chosen += pixel_probabilities(run.model, normalise, images).argmax(-1).tolist()
        return label_scores([labels[number] for number in chosen], [valid.labels[row] for row in held_out])

    return Prepared(
        task=replace(task, labels=labels, resize=data.resize, mean=normalise.mean, std=normalise.std),
        model=replace(model, labels=len(labels)),
        train=LabelledImages(train.images, train.label_ids(labels), rows, normalise, batch_size, seed, data.augment),
        valid=LabelledImages(valid.images, valid.label_ids(labels), held_out, normalise, batch_size),
        tokenizer=None,
        score=score,
    )


def _rows(data: ImageFiles, train: ImageCache, valid: ImageCache) -> tuple[list[int], list[int]]:
    """The images to train on, and those to validate on."""
    if data.valid:
        return list(range(len(train.labels))), list(range(len(valid.labels)))
    held_out = validation_rows(train.labels, data.valid_fraction)
    if not held_out:
        raise UserError(f"{data.train[0]}: every label has one image only, so none is held out; name some with --valid")
    chosen = set(held_out)
    return [row for row in range(len(train.labels)) if row not in chosen], held_out


def _note(train: ImageCache, valid: ImageCache, model: ViT, labels: Sequence[str], counts: tuple[int, int]) -> None:
    note_skipped(train.skipped if valid is train else (*train.skipped, *valid.skipped))
    kind = "grey" if model.channels == 1 else f"{model.channels} channels"
    log.info(
        f"{counts[0]:,} training images, {counts[1]:,} validation images, {len(labels):,} labels; "
        f"read as {model.image}×{model.image}, {kind}, in patches of {model.patch}×{model.patch}"
    )


def note_skipped(skipped: Sequence[str]) -> None:
    for line in skipped[:SHOWN]:
        log.warning("skipped: %s", line)
    if skipped:
        more = f", {len(skipped) - SHOWN:,} of them not named here" if len(skipped) > SHOWN else ""
        count = f"{len(skipped):,} image{'s' if len(skipped) > 1 else ''}"
        log.warning(f"{count} could not be read{more}; the others are used")
