"""A student that is a small multilayer perceptron, trained on soft labels by regard's own loop."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.core.batches import Loss
from regard.core.machine import seed_for
from regard.data.batch import TensorBatch
from regard.models.nca import RowInputs
from regard.models.row_mlp import RowMLP, RowMLPModel
from regard.tables.distillation.anonymous import group_means
from regard.tables.distillation.student import Lesson
from regard.tables.network.training import train_in_memory
from regard.train import WSD, AdamW, Training

BATCH_ROWS = 256
EPOCHS, MIN_STEPS, MAX_STEPS = 60, 300, 3000
EVALUATIONS = 30
SCALE_WEIGHT = 0.2  # of the error of the scale, beside that of the location
ROWS_PER_PASS = 8192


@dataclass(frozen=True)
class MLPStudent:
    model: RowMLPModel

    @torch.inference_mode()
    def outputs(self, values: Float[Tensor, "row cell"]) -> Float[Tensor, "row output"]:
        """The logit of each class; or the location of a number and the logarithm of its scale."""
        return torch.cat([self.model.predict(part) for part in values.split(ROWS_PER_PASS)])


@dataclass(frozen=True)
class SoftBatch(TensorBatch):
    numbers: Float[Tensor, "row number input"]
    codes: Int[Tensor, "row category"]
    targets: Float[Tensor, "row output"]

    @property
    def rows(self) -> int:
        return len(self.targets)

    @property
    def size(self) -> int:
        return self.rows


@dataclass(frozen=True)
class SoftLabelsObjective:
    """Cross-entropy with soft classes; squared error of a location and a scale, both standardised."""

    classes: int
    unit = "rows"

    def loss(self, model: nn.Module, batch: SoftBatch) -> Loss:
        output = model(RowInputs(batch.numbers, batch.codes))
        if self.classes:
            losses = -(batch.targets * output.log_softmax(-1)).sum(-1)
        else:
            error = (output - batch.targets).square()
            losses = error[:, 0] + SCALE_WEIGHT * error[:, 1]
        return Loss(losses.sum(), torch.tensor(batch.rows))


@dataclass(frozen=True)
class SoftBatches:
    """Random rows in every step; evaluation of the held-out rows."""

    learned: SoftBatch
    held_out: SoftBatch
    seed: int
    fixed_shape = True

    @property
    def steps_per_epoch(self) -> int:
        return max(1, self.learned.rows // BATCH_ROWS)

    def batch(self, step: int) -> SoftBatch:
        generator = torch.Generator().manual_seed(seed_for("student", self.seed, step))
        rows = torch.randint(0, self.learned.rows, (BATCH_ROWS,), generator=generator)
        return SoftBatch(self.learned.numbers[rows], self.learned.codes[rows], self.learned.targets[rows])

    def once(self) -> Iterator[SoftBatch]:
        yield self.held_out


def train_student(lesson: Lesson, held_out: Lesson, seed: int) -> tuple[MLPStudent, Float[Tensor, "held output"]]:
    """The weights that were best on the held-out rows; and what these were predicted as."""
    torch.manual_seed(seed_for("student", seed))
    outputs = lesson.classes or 2
    model = RowMLP(categories=_categories(lesson), outputs=outputs).build()
    _fit_inputs(model, lesson)
    if not lesson.classes:
        model.mean.copy_(lesson.targets.double().mean(0))
        std = lesson.targets.double().std(0, correction=0)
        model.std.copy_(std.where(std > 1e-6 * model.mean.abs(), 1.0))  # hard labels all have the same scale
    batches = SoftBatches(_encode(model, lesson), _encode(model, held_out), seed)
    steps = max(MIN_STEPS, min(MAX_STEPS, EPOCHS * batches.steps_per_epoch))
    training = Training(
        steps=steps,
        optimiser=AdamW(lr=2e-3, weight_decay=0.1),
        schedule=WSD(warmup=20, stable=0.3),
        eval_every=max(1, steps // EVALUATIONS),
        checkpoint_minutes=600,
        precision="float32",
        compile="never",
        seed=seed,
    )
    train_in_memory(model, SoftLabelsObjective(lesson.classes), batches, training, batches)
    student = MLPStudent(model)
    return student, student.outputs(held_out.values)


def _categories(lesson: Lesson) -> tuple[int, ...]:
    most = lesson.values.nan_to_num(0.0).amax(0).long() + 1
    return tuple(int(count) if code else 0 for count, code in zip(most, lesson.category, strict=True))


def _fit_inputs(model: RowMLPModel, lesson: Lesson) -> None:
    """The distribution of each number, of which only means of several rows are kept."""
    inputs = model.encoder.inputs
    numbers = lesson.values[:, ~lesson.category]
    inputs.fit(numbers)
    for column, cells in enumerate(numbers.unbind(1)):
        coarse = group_means(cells).float()
        if len(coarse):
            place = torch.linspace(0, len(coarse) - 1, inputs.knots.shape[1])
            below = place.long().clamp(max=max(0, len(coarse) - 2))
            above = (below + 1).clamp(max=len(coarse) - 1)
            inputs.knots[column] = torch.lerp(coarse[below], coarse[above], place - below)


def _encode(model: RowMLPModel, lesson: Lesson) -> SoftBatch:
    rows = model.encoder.encode(lesson.values)
    targets = lesson.targets.double()
    targets = targets if lesson.classes else (targets - model.mean) / model.std
    return SoftBatch(rows.numbers, rows.codes, targets.float())
