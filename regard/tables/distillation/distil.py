"""Distil a fitted table: soft labels, a student, and what it costs in accuracy on rows that neither has seen.

The comparison is honest because nothing of the held-out rows reaches it: the teachers of the soft labels are fitted to
the other rows alone. The final student learns from all rows; of the held-out ones the teacher's prediction is out of
fold too.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Literal, get_args

import torch
from jaxtyping import Float, Int
from sklearn.base import clone
from torch import Tensor

from regard.core.errors import ConfigError, UserError, did_you_mean
from regard.core.machine import seed_for
from regard.tables.distillation.anonymous import anonymous_columns
from regard.tables.distillation.mix import mix_rows
from regard.tables.distillation.mlp import train_student
from regard.tables.distillation.soft_labels import FOLDS, Labelled, Teach, blend, hard_labels, out_of_fold
from regard.tables.distillation.student import Lesson, Student, StudentPredictor, common_shape
from regard.tables.distillation.trees import grow_student
from regard.tables.encode.table import EncodedTable, join
from regard.tables.estimators.classifier import NPTClassifier
from regard.tables.estimators.distilled import DistilledClassifier, DistilledRegressor, Target
from regard.tables.estimators.regressor import NPTRegressor
from regard.tables.folds import assign_folds
from regard.tables.network.pretrained import pretrained_model
from regard.tables.plain_numbers import plain_number
from regard.tables.predictor import Predictor, held_out_loss
from regard.tables.rare_class import FEW
from regard.tables.scores import class_scores, number_scores
from regard.tables.threads import threads

StudentKind = Literal["tree", "mlp"]
Learn = Callable[[Lesson, Lesson, int], tuple[Student, Float[Tensor, "held output"]]]
LEARN: dict[str, Learn] = {"tree": grow_student, "mlp": train_student}
MIN_ROWS = 50
MAX_ROWS = 20_000  # that soft labels are made for
SHARES = (1.0, 0.5, 0.0)  # of soft labels beside true ones
STOP_FOLDS = 6  # one in six rows decides when training stops
MIXED = 1.0  # rows with mixed columns, for each training row
MAX_MIXED = 4000
TIMED_ROWS = 1000

logger = logging.getLogger("regard.tables")
Estimator = NPTClassifier | NPTRegressor


Learned = tuple[StudentPredictor, float]  # and its loss on rows that it did not learn


@dataclass(frozen=True)
class Recipe:
    """What a student learns from."""

    soft_labels: float  # their share beside the true labels
    mixed_rows: bool  # whether rows with mixed columns are added

    def __str__(self) -> str:
        labels = {1.0: "soft labels", 0.0: "hard labels"}.get(self.soft_labels, "means of soft and hard labels")
        return f"{labels} and rows with mixed columns" if self.mixed_rows else f"{labels} alone"


@dataclass(frozen=True)
class Comparison:
    """Scores of one target on held-out rows, and seconds for a thousand rows."""

    target: str | None
    rows: int
    teacher: dict[str, float]
    student: dict[str, float]
    hard_labels: dict[str, float]  # of the same student without a teacher
    teacher_seconds: float
    student_seconds: float
    soft_labels: float  # their share in what the student learned from
    mixed_rows: bool  # whether rows with mixed columns were added


def distil(
    estimator: Estimator, to: str = "tree", *, mode: str | None = None, time_limit: float = 60.0
) -> DistilledClassifier | DistilledRegressor:
    """A small model without training rows that has learned the predictions of a fitted estimator.

    `to` is `tree` (boosted trees) or `mlp` (a multilayer perceptron). The teachers of the soft labels are fitted in the
    mode of the estimator, or in `mode`, within `time_limit` seconds. `comparisons_` holds the scores of teacher and
    student on held-out rows.
    """
    if to not in get_args(StudentKind):
        raise ConfigError(f"to: unknown student {to!r}; {did_you_mean(str(to), get_args(StudentKind))}")
    if isinstance(estimator, DistilledClassifier | DistilledRegressor):
        raise ConfigError("to distil: holds no training rows, because it is distilled itself")
    teacher = clone(estimator).set_params(transductive=False, **({} if mode is None else {"mode": mode}))
    teacher._check(None)
    teacher.seed_ = estimator.seed_
    first = _first_rows(estimator.rows_)
    columns, values = anonymous_columns(estimator.columns_, estimator.tables_[0].values, first)
    targets, comparisons = [], []
    with threads(estimator.n_jobs), torch.random.fork_rng(devices=[]):
        for number, name in enumerate(estimator.target_names_):
            job = _Job(estimator, teacher, number, replace(estimator.tables_[number], values=values), to)
            predictor, comparison = job.run(name, time_limit / len(estimator.target_names_))
            counts = estimator.class_counts(number).tolist()
            targets.append(Target(name, counts, predictor))
            comparisons.append(comparison)
    kind = DistilledClassifier if isinstance(estimator, NPTClassifier) else DistilledRegressor
    student = kind(mode=teacher.mode, kinds=None, random_state=estimator.seed_, n_jobs=estimator.n_jobs)
    student.set_students(columns, targets, estimator.seed_, len(first))
    student.comparisons_ = comparisons
    if isinstance(student, DistilledClassifier):
        student.classes_ = estimator.classes_
    return student


def _first_rows(rows: Int[Tensor, " row"]) -> Int[Tensor, " distinct"]:
    """The first place of each row: one that is repeated for its weight is still one."""
    _, inverse = rows.unique(return_inverse=True)
    none = torch.full((int(inverse.max()) + 1,), len(rows))
    return none.scatter_reduce(0, inverse, torch.arange(len(rows)), "amin")


@dataclass(frozen=True)
class _Job:
    """One target of an estimator."""

    estimator: Estimator
    teacher: Estimator
    number: int
    small: EncodedTable  # the training rows as the student's columns encode them
    to: str

    def run(self, name: str | None, seconds: float) -> tuple[StudentPredictor, Comparison]:
        table, seed = self.estimator.tables_[self.number], self.estimator.seed_
        if len(table.values) < MIN_ROWS:
            raise UserError(f"to distil: {len(table.values)} training rows are too few; at least {MIN_ROWS} are needed")
        some = _sample(len(table.values), MAX_ROWS, seed)
        table, small = table.take(some), self.small.take(some)
        fold_of = assign_folds(table, FOLDS, seed)
        rest, held_out = ((fold_of != 0).nonzero()[:, 0], (fold_of == 0).nonzero()[:, 0])
        teach, each = self._teach(), seconds / (FOLDS + 1)
        logger.info("fitting the teacher to %s rows, to compare on %s", f"{len(rest):,}", f"{len(held_out):,}")
        first = teach(table.take(rest), each)
        by_teacher = first.predict(table.values[held_out])
        soft = out_of_fold(teach, table.take(rest), seed, seconds - each).prediction
        logger.info("training students (%s)", self.to)
        mixed = self._mixed(table.take(rest), small.take(rest), first)
        known, truth = small.take(rest), small.take(held_out)
        hard = self._learn(hard_labels(known), None)
        recipe, trial = self._best(known, soft, mixed, hard)
        _note_few(truth)
        comparison = Comparison(
            target=name,
            rows=len(held_out),
            teacher=_scores(by_teacher, truth),
            student=_scores(trial.predict(truth.values), truth),
            hard_labels=_scores(hard[0].predict(truth.values), truth),
            teacher_seconds=_seconds(first, table),
            student_seconds=_seconds(trial, small),
            **asdict(recipe),
        )
        labelled = blend(join([known, truth]), torch.cat([soft, by_teacher]), recipe.soft_labels)
        more = self._mixed(table, small, self.estimator.predictors_[self.number]) if recipe.mixed_rows else None
        return self._learn(labelled, more)[0], comparison

    def _best(
        self, known: EncodedTable, soft: Float[Tensor, "row prediction"], mixed: Labelled, hard: Learned
    ) -> tuple["Recipe", StudentPredictor]:
        """What to learn from, by the loss of the true labels of rows that were not learned.

        Where the target is nearly free of noise, the truth teaches more than a teacher of fewer rows.
        """
        learned = {Recipe(share, True): self._learn(blend(known, soft, share), mixed) for share in SHARES}
        learned[Recipe(0.0, False)] = hard
        best = min(learned, key=lambda recipe: learned[recipe][1])
        loss = "log-loss" if known.classes else "mean squared error"
        logger.info(
            "learned from %s: chosen by the %s of training rows that students did not learn (%s; hard labels alone "
            "%s), and not by the scores of held-out rows",
            best, loss, plain_number(float(learned[best][1])), plain_number(float(hard[1])),
        )  # fmt: skip
        return best, learned[best][0]

    def _teach(self) -> Teach:
        model = None if self.teacher.mode == "scratch" else pretrained_model(self.teacher.weights)
        return lambda table, seconds: self.teacher._fit_predictor(model, table, seconds, None)

    def _mixed(self, table: EncodedTable, small: EncodedTable, teacher: Predictor) -> Labelled:
        """Rows with mixed columns as the student reads them, labelled by a teacher that reads them its own way."""
        count = min(MAX_MIXED, round(MIXED * len(table.values)))
        columns, seed = self.estimator.columns_.positions(), self.estimator.seed_
        values, others = (mix_rows(each.values, columns, count, seed) for each in (table, small))
        unknown = torch.zeros(count, dtype=table.target.dtype)
        return Labelled(EncodedTable(others, small.category, unknown, table.classes), teacher.predict(values))

    def _learn(self, labelled: Labelled, mixed: Labelled | None) -> Learned:
        """A student, and the loss of the true labels of rows that it did not learn."""
        seed = self.estimator.seed_
        stops = assign_folds(labelled.table, STOP_FOLDS, seed_for("student", seed) % 2**31) == 0
        learned, held_out = (labelled.take(which.nonzero()[:, 0]) for which in (~stops, stops))
        lesson = Lesson.of(learned)
        if mixed is not None:
            lesson = lesson.join(Lesson.of(mixed))
        student, outputs = LEARN[self.to](lesson, Lesson.of(held_out), seed)
        predictor = StudentPredictor(student, labelled.table.classes, common_shape(held_out, outputs))
        return predictor, held_out_loss(predictor.from_outputs(outputs), held_out.table)


def _note_few(held_out: EncodedTable) -> None:
    """A caution where few rows of a class decide the scores."""
    if not held_out.classes:
        return
    least = int(torch.bincount(held_out.target.long(), minlength=held_out.classes).min())
    if least < FEW:
        rows = "1 row is" if least == 1 else f"{least} rows are"
        logger.warning("note: only %s of the rarest class among those held out: small differences may be chance", rows)


def _sample(count: int, most: int, seed: int) -> Int[Tensor, " row"]:
    if count <= most:
        return torch.arange(count)
    return torch.randperm(count, generator=torch.Generator().manual_seed(seed_for("distil", seed)))[:most].sort().values


def _scores(prediction: Float[Tensor, "row prediction"], rows: EncodedTable) -> dict[str, float]:
    if rows.classes:
        return class_scores(rows.target.long().numpy(), prediction.double().numpy())
    return number_scores(rows.target.double().numpy(), prediction[:, 0].double().numpy())


def _seconds(predictor: Predictor, rows: EncodedTable) -> float:
    """For a thousand rows, by a predictor that has predicted before."""
    values = rows.values[torch.arange(TIMED_ROWS) % len(rows.values)]
    times: list[float] = []
    while len(times) < 3 and sum(times) < 1:  # the least of a few: other programs may be busy
        began = time.monotonic()
        predictor.predict(values)
        times.append(time.monotonic() - began)
    return min(times)
