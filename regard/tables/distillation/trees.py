"""A student of gradient-boosted trees: scikit-learn's histogram boosting on soft labels, kept as a few arrays.

Soft classes are weights: a row counts once for each class, as much as the class is probable. That is cross-entropy with
soft labels. A number takes two ensembles, for its location and its scale.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from regard.core.errors import ConfigError
from regard.core.machine import seed_for
from regard.tables.distillation.anonymous import between_cells
from regard.tables.distillation.student import Lesson
from regard.tables.encode.table import EncodedTable
from regard.tables.network.boosted_trees import MAX_LEAVES, Trees, fill_empty_columns, trees_of
from regard.tables.network.level_means import LevelMeans

LEARNING_RATE = 0.1
ROUNDS = 25  # between evaluations on held-out rows
MAX_ROUNDS = 200
PATIENCE = 2  # evaluations without a gain
MIN_LEAF = 10  # rows
MAX_DEPTH, MAX_LEAF_NODES = 5, 16  # small trees are soon walked down
MANY_CELLS = 1_000_000
MAX_CLASSES = 30  # each has a tree in each round
FEW = 5  # classes that each row counts for; of more only those of
LEAST = 0.02  # probability


@dataclass(frozen=True)
class TreeStudent:
    classes: int
    ensembles: tuple[Trees, ...]  # one for classes; for a number its location and its scale; none for a single class
    levels: LevelMeans

    def outputs(self, values: Float[Tensor, "row cell"]) -> Float[Tensor, "row output"]:
        """The logit of each class; or the location of a number and the logarithm of its scale."""
        cells = self.levels.encode(values)
        scores = [_scores(trees, cells) for trees in self.ensembles]
        first = [cells.new_zeros(len(cells), 1)] if self.classes in (1, 2) else []
        return torch.cat([*first, *scores], 1)


def _scores(trees: Trees, cells: Float[Tensor, "row cell"]) -> Float[Tensor, "row output"]:
    parts = cells.split(max(1, MAX_LEAVES // trees.roots.numel()))
    return torch.cat([trees.scores(trees.leaves(part)) for part in parts])


def grow_student(lesson: Lesson, held_out: Lesson, seed: int) -> tuple[TreeStudent, Float[Tensor, "held output"]]:
    """Trees of all rows, with as many rounds as were best on the held-out ones; and what these were predicted as."""
    if lesson.classes > MAX_CLASSES:
        raise ConfigError(f"--to tree: {lesson.classes} classes are more than {MAX_CLASSES}; use --to mlp")
    trial, rounds = _grow(lesson, seed, held_out, None)
    student, _ = _grow(lesson.join(held_out), seed, held_out, rounds)
    return student, trial.outputs(held_out.values)


def _grow(lesson: Lesson, seed: int, held_out: Lesson, rounds: list[int] | None) -> tuple[TreeStudent, list[int]]:
    """Trees with given numbers of rounds, or with those that are best on the held-out rows."""
    table = EncodedTable(lesson.values, lesson.category, _level_target(lesson), 0, lesson.source)
    levels = LevelMeans.fit(table)
    cells, others = fill_empty_columns(levels.cross_fit(table, seed)), levels.encode(held_out.values)
    grown: list[tuple[Trees, int]] = []
    for place in range(0 if lesson.classes == 1 else 1 if lesson.classes else 2):
        model, rows, loss = (_classes if lesson.classes else _number)(cells, lesson, others, held_out, place, seed)
        grown.append(_boost(model, rows, loss, rounds[place] if rounds else None))
    ensembles = tuple(_between_cells(trees, cells) for trees, _ in grown)
    return TreeStudent(lesson.classes, ensembles, levels), [count for _, count in grown]


def _level_target(lesson: Lesson) -> Float[Tensor, " row"]:
    """What levels are ordered by: the location, or the probability of the second of two classes or the commonest."""
    if not lesson.classes:
        return lesson.targets[:, 0].double()
    sought = 1 if lesson.classes == 2 else int(lesson.targets.sum(0).argmax())
    return lesson.targets[:, sought].double()


Boosting = tuple[Any, tuple[Any, ...], Callable[[Any], float]]  # a model, its rows, and the loss of held-out ones


def _number(cells: Tensor, lesson: Lesson, others: Tensor, held_out: Lesson, place: int, seed: int) -> Boosting:
    from sklearn.ensemble import HistGradientBoostingRegressor

    def loss(model: Any) -> float:
        return float(np.square(model.predict(others.numpy()) - held_out.targets[:, place].numpy()).mean())

    model = HistGradientBoostingRegressor(**_settings(seed, MIN_LEAF))
    return model, (cells.numpy(), lesson.targets[:, place].double().numpy()), loss


def _classes(cells: Tensor, lesson: Lesson, others: Tensor, held_out: Lesson, _: int, seed: int) -> Boosting:
    from sklearn.ensemble import HistGradientBoostingClassifier

    targets, classes = lesson.targets, lesson.classes
    counted = targets >= (LEAST if classes > FEW else 0.0)
    counted[targets.argmax(0), torch.arange(classes)] = True  # every class at least once
    row, label = counted.nonzero(as_tuple=True)
    weight = targets[row, label].clamp(min=1e-9)

    def loss(model: Any) -> float:
        logarithms = np.log(model.predict_proba(others.numpy()).clip(1e-9))
        return float(-(held_out.targets.numpy() * logarithms).sum(1).mean())

    model = HistGradientBoostingClassifier(**_settings(seed, round(MIN_LEAF * len(row) / len(cells))))
    return model, (cells[row].numpy(), label.numpy(), weight.numpy()), loss


def _settings(seed: int, leaf: int) -> dict[str, Any]:
    return {
        "learning_rate": LEARNING_RATE, "early_stopping": False, "warm_start": True, "max_iter": ROUNDS,
        "min_samples_leaf": leaf, "max_depth": MAX_DEPTH, "max_leaf_nodes": MAX_LEAF_NODES,
        "random_state": seed_for("student", seed) % 2**31,
    }  # fmt: skip


def _boost(model: Any, rows: tuple[Any, ...], loss: Callable[[Trees], float], rounds: int | None) -> tuple[Trees, int]:
    from threadpoolctl import threadpool_limits

    # On few cells threads mostly wait for each other.
    with threadpool_limits(torch.get_num_threads() if rows[0].size > MANY_CELLS else 1, user_api="openmp"):
        if rounds is not None:
            return trees_of(model.set_params(max_iter=rounds).fit(*rows), rounds), rounds
        best, rounds, waited = float("inf"), ROUNDS, 0
        while waited < PATIENCE and model.max_iter <= MAX_ROUNDS:
            model.fit(*rows)
            now = loss(model)
            waited = 0 if now < best else waited + 1
            if now < best:
                best, rounds = now, model.max_iter
            model.max_iter += ROUNDS
    return trees_of(model, rounds), rounds


def _between_cells(trees: Trees, cells: Float[Tensor, "row cell"]) -> Trees:
    """The same trees with thresholds that are no cells."""
    threshold, splits = trees.threshold.clone(), trees.left != torch.arange(len(trees.left))
    for column in trees.column[splits].unique().tolist():
        own = splits & (trees.column == column)
        threshold[own] = between_cells(threshold[own], cells[:, column])
    return replace(trees, threshold=threshold)
