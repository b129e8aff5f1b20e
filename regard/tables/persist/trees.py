"""Loading boosted trees: every index is checked, so that walking down a tree ends."""

import torch

from regard.tables.encode.cells import LARGEST
from regard.tables.encode.table import EncodedTable
from regard.tables.network.boosted_trees import QUANTILES, BoostedTreesPredictor, Trees
from regard.tables.network.level_means import LevelMeans
from regard.tables.persist.schema import Tensors


def read_trees(weights: Tensors, prefix: str, table: EncodedTable) -> BoostedTreesPredictor:
    trees = read_nodes(weights, prefix, table)
    residuals = torch.empty(0, dtype=torch.float64)
    if table.classes:
        weights.take(f"{prefix}residuals")
    else:
        residuals = weights.numbers(f"{prefix}residuals", torch.float64, (QUANTILES,), -LARGEST, LARGEST)
    return BoostedTreesPredictor(trees, read_levels(weights, prefix, table), residuals, table)


def read_levels(weights: Tensors, prefix: str, table: EncodedTable) -> LevelMeans:
    """The mean of each level of the categorical columns."""
    columns = int(table.category.sum())
    first = weights.integers(f"{prefix}first", (columns + 1,), 2**31)
    if (first.diff() < 0).any() or first[0] != 0:
        raise weights.error(f"{prefix}first", "must ascend from 0")
    size = int(first[-1])
    means = torch.empty(0, dtype=torch.float64)
    if size:
        means = weights.numbers(f"{prefix}levels", torch.float64, (size,), -LARGEST, LARGEST, nan=True)
    else:
        weights.take(f"{prefix}levels")
    return LevelMeans(table.category, first, means)


def read_nodes(weights: Tensors, prefix: str, table: EncodedTable) -> Trees:
    column = weights.integers(f"{prefix}column", (None,), table.values.shape[1])
    count = len(column)
    left, right = (weights.integers(f"{prefix}{side}", (count,), count) for side in ("left", "right"))
    own = torch.arange(count)
    for side, child in (("left", left), ("right", right)):
        if (child < own).any() or ((child == own) != (left == own)).any():
            raise weights.error(f"{prefix}{side}", "a child must come after its node")
    threshold = weights.read(f"{prefix}threshold", torch.float64, (count,))
    if threshold.isnan().any():
        raise weights.error(f"{prefix}threshold", "must be numbers, not NaN")
    outputs = table.classes if table.classes > 2 else 1
    return Trees(
        column=column,
        threshold=threshold,
        missing_left=weights.read(f"{prefix}missing_left", torch.bool, (count,)),
        left=left,
        right=right,
        value=weights.numbers(f"{prefix}value", torch.float64, (count,), -LARGEST, LARGEST),
        roots=weights.integers(f"{prefix}roots", (None, outputs), count),
        baseline=weights.numbers(f"{prefix}baseline", torch.float64, (outputs,), -LARGEST, LARGEST),
    )
