"""Gradient-boosted trees beside the networks: on large tables they see what attention misses, and the other way round.

scikit-learn's histogram boosting grows the trees; what is kept of them is a few arrays, so that a stored table holds no
code. The weight of a training row is that of the trees seen as a nearest-neighbour method (Lin & Jeon, 2006): the share
of trees in which it is in the leaf of the query row, each leaf divided among its rows.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.tables.encode.table import EncodedTable
from regard.tables.network.in_context_loss import quantile_levels, smooth_probabilities
from regard.tables.network.level_means import LevelMeans
from regard.tables.predictor import held_out_loss

QUANTILES = 33
LEARNING_RATE = 0.08
ROUNDS = 25  # between evaluations on held-out rows
MAX_ROUNDS = 1000
PATIENCE = 2  # evaluations without a gain
ABSENT = -30.0  # baseline of a class that no row has: a probability of nearly nothing
MAX_LEAVES = 2**22  # leaves of rows that are computed at once, which bounds memory
MAX_CACHED_LEAVES = 2**26  # of the training rows: a quarter of a gigabyte


@dataclass(frozen=True)
class Trees:
    """The nodes of all trees. A node's children come after it; a leaf is its own child."""

    column: Int[Tensor, " node"]
    threshold: Float[Tensor, " node"]
    missing_left: Bool[Tensor, " node"]
    left: Int[Tensor, " node"]
    right: Int[Tensor, " node"]
    value: Float[Tensor, " node"]  # of a leaf
    roots: Int[Tensor, "round output"]
    baseline: Float[Tensor, " output"]

    def leaves(
        self, cells: Float[Tensor, "row column"], roots: Int[Tensor, " tree"] | None = None
    ) -> Int[Tensor, "row tree"]:
        """The leaf of each row in each tree, or in those with these roots."""
        node = (self.roots.flatten() if roots is None else roots).expand(len(cells), -1)
        while True:
            cell = cells.gather(1, self.column[node])
            goes_left = torch.where(cell.isnan(), self.missing_left[node], cell <= self.threshold[node])
            after = torch.where(goes_left, self.left[node], self.right[node])
            if torch.equal(after, node):
                return node
            node = after

    def scores(self, leaves: Int[Tensor, "row tree"]) -> Float[Tensor, "row output"]:
        return self.value[leaves].unflatten(1, tuple(self.roots.shape)).sum(1) + self.baseline


def trees_of(model: Any, rounds: int, classes: int = 0) -> Trees:
    """The first rounds of a fitted model of scikit-learn's histogram boosting, with an output for each of the classes.

    By default these are those that the model was fitted to; others get trees of one leaf.
    """
    present, baseline = _outputs(model, classes)
    nodes: list[dict[str, np.ndarray]] = []
    roots: list[list[int]] = []
    first = 0
    for each in model._predictors[:rounds]:
        grown = dict(zip(present, each, strict=True))
        roots.append([])
        for output in range(len(baseline)):
            nodes.append(_nodes(grown[output].nodes, first) if output in grown else _only_leaf(first))
            roots[-1].append(first)
            first += len(nodes[-1]["column"])
    arrays = {name: torch.from_numpy(np.concatenate([each[name] for each in nodes])) for name in nodes[0]}
    return Trees(**arrays, roots=torch.tensor(roots), baseline=torch.from_numpy(baseline))


def _outputs(model: Any, classes: int) -> tuple[list[int], np.ndarray]:
    """The output of each of the trees of a round, and the baselines of all outputs."""
    fitted = np.asarray(model._baseline_prediction, dtype=np.float64).reshape(-1)
    if classes <= 2 or len(model.classes_) == classes:
        return list(range(len(fitted))), fitted
    # scikit-learn counts only classes that the rows have; of two it has one tree, for the second of them.
    known = model.classes_.astype(int).tolist()
    present, baseline = known[-len(fitted) :], np.full(classes, ABSENT)
    baseline[known] = 0.0
    if len(known) == 1:  # its tree would be that of a second class
        return [-1], baseline
    baseline[present] = fitted
    return present, baseline


def _nodes(tree: np.ndarray, first: int) -> dict[str, np.ndarray]:
    """The nodes of one tree, numbered from `first` on."""
    leaf, own = tree["is_leaf"].astype(bool), np.arange(len(tree)) + first
    return {
        "column": np.where(leaf, 0, tree["feature_idx"]).astype(np.int64),
        "threshold": np.where(leaf, 0.0, tree["num_threshold"]).astype(np.float64),
        "missing_left": tree["missing_go_to_left"].astype(bool),
        "left": np.where(leaf, own, tree["left"].astype(np.int64) + first),
        "right": np.where(leaf, own, tree["right"].astype(np.int64) + first),
        "value": np.where(leaf, tree["value"], 0.0).astype(np.float64),
    }


def _only_leaf(first: int) -> dict[str, np.ndarray]:
    own, zero = np.array([first]), np.array([0.0])
    no, column = np.array([False]), np.array([0])
    return {"column": column, "threshold": zero, "missing_left": no, "left": own, "right": own, "value": zero}


class BoostedTreesPredictor:
    """Trees with the table that they were grown on."""

    attends_to_labels = False

    def __init__(self, trees: Trees, levels: LevelMeans, residuals: Float[Tensor, " quantile"], table: EncodedTable):
        self.trees, self.levels, self.table = trees, levels, table
        self.residuals = residuals  # quantiles of truth minus prediction; empty for classes
        self._leaves: Sequence[tuple[Tensor, Tensor]] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Leaves of the training rows can be computed again."""
        return {**self.__dict__, "_leaves": None}

    def predict(self, values: Float[Tensor, "row column"]) -> Float[Tensor, "row prediction"]:
        """The probability of each class; or the mean and the quantiles of a number."""
        cells = self.levels.encode(values)
        parts = cells.split(max(1, MAX_LEAVES // self.trees.roots.numel()))
        scores = torch.cat([self.trees.scores(self.trees.leaves(part)) for part in parts])
        if not self.table.classes:
            return torch.cat([scores, scores + self.residuals], 1)
        if scores.shape[1] == 1:
            scores = torch.cat([torch.zeros_like(scores), scores], 1)
        return smooth_probabilities(scores.softmax(1).float(), self.table.classes)

    def row_weights(self, values: Float[Tensor, "row column"]) -> Float[Tensor, "row context"]:
        """The share of trees in which a training row is in the leaf of the query row, divided among the leaf's rows."""
        cells, queries = self.levels.encode(values), torch.arange(len(values))[:, None]
        weights = torch.zeros(len(self.table.values), len(values))
        place_of = torch.zeros(len(self.trees.left), dtype=torch.int32)
        for roots, known in self._table_leaves():
            leaves, place = self.trees.leaves(cells, roots).unique(return_inverse=True)
            place_of.zero_()[leaves] = torch.arange(1, len(leaves) + 1, dtype=torch.int32)
            places = place_of[known]  # 0: in the leaf of no query row
            counts = torch.bincount(places.flatten(), minlength=len(leaves) + 1).clamp(min=1)
            share = torch.zeros(len(leaves) + 1, len(values))
            share[place + 1, queries] = 1 / counts[place + 1]
            weights += F.embedding_bag(places, share, mode="sum")
        return weights.T / weights.sum(0)[:, None].clamp(min=1e-12)

    def _table_leaves(self) -> Iterator[tuple[Tensor, Tensor]]:
        """The roots of some trees at a time, and the leaf of each training row in these.

        They are kept for the next call if they are not too many.
        """
        if self._leaves is None:
            cells, roots = self.levels.encode(self.table.values), self.trees.roots.flatten()
            parts = roots.split(max(1, MAX_LEAVES // len(cells)))
            walked = ((part, self.trees.leaves(cells, part).int()) for part in parts)
            if len(cells) * len(roots) > MAX_CACHED_LEAVES:
                yield from walked
                return
            self._leaves = list(walked)
        yield from self._leaves


def grow_trees(
    table: EncodedTable, held_out: EncodedTable, seconds: float, seed: int
) -> tuple[Trees, LevelMeans, Float[Tensor, " quantile"]]:
    """Trees with the number of rounds that was best on the held-out rows, and the quantiles of the residuals there."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from threadpoolctl import threadpool_limits

    began = time.monotonic()
    levels = LevelMeans.fit(table)
    cells, target, weight = fill_empty_columns(levels.cross_fit(table, seed)).numpy(), table.target.numpy(), None
    copies = table.copies()
    if copies is not None:  # one row with a weight: a leaf must have so many rows, not so many copies
        first, weight = copies.first.numpy(), copies.counts.numpy()
        cells, target = cells[first], target[first]
    kind = HistGradientBoostingClassifier if table.classes else HistGradientBoostingRegressor
    model = kind(learning_rate=LEARNING_RATE, early_stopping=False, warm_start=True, random_state=seed, max_iter=ROUNDS)
    best, rounds, waited = float("inf"), 0, 0
    while waited < PATIENCE and model.max_iter <= MAX_ROUNDS:
        # More threads than torch may use would wait for each other, several times in each tree.
        with threadpool_limits(torch.get_num_threads(), user_api="openmp"):
            model.fit(cells, target, weight)
        trees = trees_of(model, model.max_iter, table.classes)
        predictor = BoostedTreesPredictor(trees, levels, torch.zeros(QUANTILES), table)
        loss = held_out_loss(predictor.predict(held_out.values), held_out)
        waited = 0 if loss < best else waited + 1
        if loss < best:
            best, rounds = loss, model.max_iter
        each = (time.monotonic() - began) / (model.max_iter / ROUNDS)
        if time.monotonic() - began + each > seconds:
            break
        model.max_iter += ROUNDS
    trees = trees_of(model, rounds, table.classes)
    return trees, levels, _residuals(trees, levels, held_out)


def fill_empty_columns(cells: Float[Tensor, "row column"]) -> Float[Tensor, "row column"]:
    """With zeros in columns without any number, on which scikit-learn 1.9 fails; no tree splits a constant one."""
    return cells.masked_fill(cells.isnan().all(0), 0.0)


def _residuals(trees: Trees, levels: LevelMeans, rows: EncodedTable) -> Float[Tensor, " quantile"]:
    if rows.classes:
        return torch.empty(0, dtype=torch.float64)
    predicted = trees.scores(trees.leaves(levels.encode(rows.values)))[:, 0]
    return torch.quantile(rows.target.double() - predicted, quantile_levels(QUANTILES).double())


def tensors_of(trees: Trees) -> dict[str, Tensor]:
    return {field.name: getattr(trees, field.name) for field in fields(trees)}
