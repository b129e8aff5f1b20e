"""Classify images: predict the label of an image."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from regard.core.batches import Loss
from regard.core.errors import ConfigError, UserError, share
from regard.data.images.image_cache import ImageFormat
from regard.data.images.image_record import ImageRecord, image_name
from regard.data.images.image_types import ImageError, ImageInput, Resize
from regard.data.images.images import ImageBatch, ImageFiles, Normalisation
from regard.data.trees.conllu import Parse
from regard.interop.base_model import BaseModel
from regard.models import Model, ViT
from regard.tasks.base import EvalOptions, Prepared, Run, Settings, Task, ViewForm, Workspace, check_list
from regard.tasks.columns import training_columns
from regard.tasks.image.answers import image_probabilities
from regard.tasks.image.prepare import note_skipped, prepare_images
from regard.tasks.image.recording import record_image
from regard.tasks.image.sizes import Sources
from regard.tasks.labels import label_scores
from regard.tasks.recording import Recording, ViewInput


@dataclass(frozen=True)
class ClassifyImages(Task):
    labels: tuple[str, ...] = ()  # in the order of the logits; none: those of the training images
    resize: Resize = "crop"  # as in training
    mean: tuple[float, ...] = ()  # of each channel; none: those of the training images
    std: tuple[float, ...] = ()
    label_smoothing: float = 0.0

    data: ClassVar[tuple[type, ...]] = (ImageFiles,)
    unit: ClassVar[str] = "images"
    verb: ClassVar[str] = "image"
    next_command: ClassVar[str] = "regard classify {} IMAGE.png"
    named: ClassVar[tuple[str, ...]] = ("classify", "label_probabilities", "each_probability")

    def __post_init__(self) -> None:
        share(label_smoothing=self.label_smoothing)

    @property
    def normalise(self) -> Normalisation:
        return Normalisation(self.mean, self.std)

    def loss(self, model: nn.Module, batch: ImageBatch) -> Loss:
        """A mixed image has two labels, weighted as the images are."""
        logits = model(batch.images).float()
        smoothing = self.label_smoothing if model.training else 0.0
        first, mixed = (
            F.cross_entropy(logits, label, reduction="none", label_smoothing=smoothing)
            for label in (batch.label, batch.mixed_label)
        )
        total = (batch.weight * first + (1 - batch.weight) * mixed).sum()
        return Loss(total, torch.tensor(batch.rows))

    def start_from(self, base: BaseModel) -> tuple[Any, Model]:
        if not isinstance(base.config, ViT):
            raise ConfigError(", which reads no images; start from a Vision Transformer (ViT)")
        pixels = base.extra.get("pixels")
        task = self if pixels is None else replace(self, mean=pixels["mean"], std=pixels["std"])
        return task, replace(base.config, labels=0)

    def prepare(self, plan: Settings, workspace: Workspace) -> AbstractContextManager[Prepared]:
        return prepare_images(self, plan, workspace)

    def answer(self, run: Run, inputs: Sequence[ImageInput], **options: Any) -> list[str]:
        return self.classify(run, inputs, **options)

    def classify(self, run: Run, images: Sequence[ImageInput]) -> list[str]:
        """The most probable label of each image: a file, an array, or an image of Pillow."""
        labels, probabilities = self.label_probabilities(run, images)
        return [labels[place] for place in probabilities.argmax(-1).tolist()] if len(images) else []

    def label_probabilities(
        self, run: Run, images: Sequence[ImageInput]
    ) -> tuple[tuple[str, ...], Float[Tensor, "image label"]]:
        """The labels, and the probability of each for each image."""
        check_list(images, "images")
        records = (ImageRecord(image_name(image, place), "", image) for place, image in enumerate(images))
        results = []
        for _, probabilities in self.each_probability(run, records):
            if isinstance(probabilities, ImageError):
                raise probabilities
            results.append(probabilities)
        return self.labels, torch.stack(results) if results else torch.empty(0, len(self.labels))

    def each_probability(
        self, run: Run, records: Iterable[ImageRecord]
    ) -> Iterator[tuple[ImageRecord, Tensor | ImageError]]:
        """The probabilities of any number of images, or what is wrong with one of them."""
        if not isinstance(run.config, ViT):
            raise UserError(f"{run.path}: holds a {type(run.config).__name__}, which reads no images")
        image_format = ImageFormat(run.config.image, run.config.channels, self.resize)
        return image_probabilities(run.model, self.normalise, image_format, records)

    def evaluate(self, run: Run, files: Sequence[str], options: EvalOptions) -> dict[str, Any]:
        """Accuracy and macro-F1 over all that can be read; of files that hold both splits, over the test split."""
        answers, references, skipped = [], [], []
        sources = Sources(files, "test", options.columns or training_columns(run))
        for record, probabilities in self.each_probability(run, chain.from_iterable(sources.each())):
            if isinstance(probabilities, ImageError):
                skipped.append(str(probabilities))
                continue
            if record.label not in self.labels:
                raise UserError(f"{record.where}: the label {record.label!r} does not occur in the training images")
            answers.append(self.labels[int(probabilities.argmax())])
            references.append(record.label)
        note_skipped(skipped)
        if not answers:
            raise UserError(f"{', '.join(files)}: no image could be read")
        return {**label_scores(answers, references), "images": len(answers), "skipped": len(skipped)}

    def view_form(self, config: Model, has_tokenizer: bool) -> ViewForm | None:
        return ViewForm("image", "an image to classify")

    def record(self, run: Run, view_input: ViewInput, tree: Parse | None = None) -> Recording:
        return record_image(run, view_input, self.normalise, self.resize, self.labels)

    @classmethod
    def adopt(cls, config: Model, extra: Mapping[str, Any]) -> "ClassifyImages | None":
        """A Vision Transformer of another library, whose folder says how pixels are normalised."""
        pixels = extra.get("pixels")
        if not isinstance(config, ViT) or pixels is None:
            return None
        labels = tuple(map(str, extra.get("id2label", {}).values()))
        return cls(labels=labels, resize=pixels["resize"], mean=pixels["mean"], std=pixels["std"])
