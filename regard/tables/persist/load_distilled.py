"""Loading a distilled model from its folder, which may be a stranger's: checked against its schema first."""

from pathlib import Path
from typing import get_args

import numpy as np
import torch

from regard.models.row_mlp import RowMLP
from regard.store import COLUMNS, WEIGHTS
from regard.tables.distillation.mlp import MLPStudent
from regard.tables.distillation.student import Student, StudentPredictor
from regard.tables.distillation.trees import TreeStudent
from regard.tables.encode.cells import LARGEST
from regard.tables.encode.columns import Columns
from regard.tables.encode.table import EncodedTable
from regard.tables.estimators.base import Mode
from regard.tables.estimators.distilled import DistilledClassifier, DistilledRegressor, Target
from regard.tables.persist.columns import read_columns, read_encoders
from regard.tables.persist.predictors import MAX_SEED, build_model
from regard.tables.persist.schema import Section, Tensors, load_tensors
from regard.tables.persist.targets import read_target
from regard.tables.persist.trees import read_levels, read_nodes

DISTILLED = ("DistilledClassifier", "DistilledRegressor")
MAX_TARGETS = 1000
MAX_ROWS = 2**53
MAX_QUANTILES = 1000


def load_distilled(path: Path, kind: str, config: Section) -> DistilledClassifier | DistilledRegressor:
    columns, _ = read_columns(path / COLUMNS, imputer=False)
    weights = Tensors(path / WEIGHTS, load_tensors(path / WEIGHTS))
    columns = read_encoders(weights, columns)
    classifies = kind == "DistilledClassifier"
    mode, seed = config.choice("mode", get_args(Mode)), config.integer("seed", 0, MAX_SEED)
    rows = config.integer("rows", 0, MAX_ROWS)
    named = [read_target(one, classifies) for one in config.sections("targets", 1, MAX_TARGETS)]
    students = list(config.sections("model", len(named), len(named)))
    targets = [
        Target(name, counts, _read_predictor(number, section, columns, len(labels), weights))
        for number, ((name, labels), counts, section) in enumerate(
            zip(named, _read_counts(config, named), students, strict=True)
        )
    ]
    config.done()
    weights.done()
    estimator = (DistilledClassifier if classifies else DistilledRegressor)(mode=mode, random_state=seed)
    estimator.set_students(columns, targets, seed, rows)
    if isinstance(estimator, DistilledClassifier):
        classes = [labels for _, labels in named]
        estimator.classes_ = classes if estimator.multi_output_ else classes[0]
    return estimator


def _read_counts(config: Section, named: list[tuple[str | None, np.ndarray]]) -> list[list[int]]:
    """The number of training rows of each class of each target."""
    counts = []
    for number, (items, (_, labels)) in enumerate(
        zip(config.items("class_counts", len(named), len(named)), named, strict=True)
    ):
        section = Section(config.file, {"class_counts": items}, f"class_counts[{number}]")
        each = section.items("class_counts", len(labels), len(labels))
        for place, count in enumerate(each):
            section.as_number(place, count, 0, MAX_ROWS)
        counts.append([int(count) for count in each])
    return counts


def _read_predictor(
    number: int, section: Section, columns: Columns, classes: int, weights: Tensors
) -> StudentPredictor:
    kind, prefix = section.choice("student", ("tree", "mlp")), f"{number}."
    category = torch.tensor(columns.is_category)
    table = EncodedTable(torch.empty(0, len(category)), category, torch.empty(0), classes)
    shape = torch.empty(0, dtype=torch.float64)
    if classes:
        weights.take(f"{prefix}shape")
    else:
        shape = weights.numbers(f"{prefix}shape", torch.float64, (None,), -LARGEST, LARGEST)
        if len(shape) > MAX_QUANTILES or (shape.diff() < 0).any():
            raise weights.error(f"{prefix}shape", f"must ascend, and have at most {MAX_QUANTILES:,} numbers")
    student = _read_trees(prefix, table, weights) if kind == "tree" else _read_mlp(prefix, section, table, weights)
    section.done()
    return StudentPredictor(student, classes, shape)


def _read_trees(prefix: str, table: EncodedTable, weights: Tensors) -> Student:
    count = 2 if not table.classes else int(table.classes > 1)
    ensembles = tuple(read_nodes(weights, f"{prefix}{place}.", table) for place in range(count))
    return TreeStudent(table.classes, ensembles, read_levels(weights, prefix, table))


def _read_mlp(prefix: str, section: Section, table: EncodedTable, weights: Tensors) -> Student:
    tensors = weights.take(f"{prefix}net.")
    model = build_model(RowMLP, section, "config", tensors, weights.file)
    if [count > 0 for count in model.config.categories] != table.category.tolist():
        raise section.error("config.categories", f"do not match the kinds of {COLUMNS}")
    if model.config.outputs != (table.classes or 2):
        raise section.error("config.outputs", f"must be {table.classes or 2}, not {model.config.outputs}")
    return MLPStudent(model)
