"""What a student predicts: class probabilities, or a number as a location, a scale and a common shape of quantiles.

A teacher's quantiles differ from row to row mostly in where they lie and how wide they are. A student learns these two;
the shape is the teacher's average one, widened so that it fits the student's own errors on rows that it did not learn.
"""

from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from regard.core.errors import UserError
from regard.tables.distillation.soft_labels import Labelled
from regard.tables.encode.table import join_sources
from regard.tables.network.in_context_loss import smooth_probabilities

MIN_SCALE = 1e-6  # relative to the standard deviation of the target
NO_ROWS = "a distilled model holds no training rows, so it has no evidence; explain the run that it was distilled from"


@runtime_checkable
class Student(Protocol):
    """A small model without rows."""

    def outputs(self, values: Float[Tensor, "row cell"]) -> Float[Tensor, "row output"]:
        """The logit of each class; or the location of a number and the logarithm of its scale."""


class StudentPredictor:
    """A student as the predictor of a target."""

    attends_to_labels = False

    def __init__(self, student: Student, classes: int, shape: Float[Tensor, " quantile"]):
        self.student, self.classes = student, classes
        self.shape = shape  # quantiles of (number − location) / scale; empty for classes

    def predict(self, values: Float[Tensor, "row cell"]) -> Float[Tensor, "row prediction"]:
        return self.from_outputs(self.student.outputs(values))

    def from_outputs(self, outputs: Float[Tensor, "row output"]) -> Float[Tensor, "row prediction"]:
        """Logits as probabilities, location and scale as a mean and quantiles."""
        if self.classes:
            return smooth_probabilities(outputs.softmax(1).float(), self.classes)
        location, scale = outputs[:, :1].double(), outputs[:, 1:].double().exp()
        return torch.cat([location, location + scale * self.shape], 1)

    def row_weights(self, values: Float[Tensor, "row cell"]) -> Float[Tensor, "row context"]:
        raise UserError(NO_ROWS)


@dataclass(frozen=True)
class Lesson:
    """What a student learns of each row: probabilities of classes, or a location and the logarithm of a scale."""

    values: Float[Tensor, "row cell"]
    category: Tensor  # which cells are codes of levels
    targets: Float[Tensor, "row output"]
    classes: int
    source: Tensor | None = None  # rows with the same one are copies, made by weights

    @classmethod
    def of(cls, labelled: Labelled) -> "Lesson":
        table, prediction = labelled.table, labelled.prediction
        if table.classes:
            shares = prediction / prediction.sum(1, keepdim=True)
            return cls(table.values, table.category, shares, table.classes, table.source)
        location, scale = prediction[:, :1].double(), _scale(prediction)
        return cls(table.values, table.category, torch.cat([location, scale.log()], 1), 0, table.source)

    def join(self, other: "Lesson") -> "Lesson":
        """The rows of both."""
        values, targets = torch.cat([self.values, other.values]), torch.cat([self.targets, other.targets])
        source = join_sources([(each.source, len(each)) for each in (self, other)])
        return replace(self, values=values, targets=targets, source=source)

    def __len__(self) -> int:
        return len(self.values)


def _scale(prediction: Float[Tensor, "row prediction"]) -> Float[Tensor, "row one"]:
    """Half the width of the middle half of the quantiles."""
    quantiles, count = prediction[:, 1:].double(), prediction.shape[1] - 1
    width = quantiles[:, [count - 1 - count // 4]] - quantiles[:, [count // 4]]
    floor = MIN_SCALE * prediction[:, 0].double().std(correction=0).clamp(min=1e-30)
    return (width / 2).clamp(min=floor)


def common_shape(labelled: Labelled, outputs: Float[Tensor, "row output"]) -> Float[Tensor, " quantile"]:
    """The teacher's average shape, widened to the errors of a student on rows that it did not learn."""
    if labelled.table.classes:
        return torch.empty(0, dtype=torch.float64)
    prediction = labelled.prediction.double()
    shape = ((prediction[:, 1:] - prediction[:, :1]) / _scale(prediction)).median(0).values.sort().values
    errors = (labelled.table.target.double() - outputs[:, 0].double()) / outputs[:, 1].double().exp()
    return shape * (errors.abs().mean() / shape.abs().mean().clamp(min=1e-9)).clamp(0.1, 10.0)
