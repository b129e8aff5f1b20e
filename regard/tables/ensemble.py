"""Ensemble members: the same network reads the table several times, permuted, and the predictions are averaged.

A prediction must not depend on the order of columns or of classes, and the network has not learned that perfectly, so
each member draws both anew. A table too large for one pass is subsampled differently by each member.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from regard.core.machine import seed_for
from regard.models.in_context import COLUMN_CODE
from regard.tables.calibrate import Calibration
from regard.tables.encode.table import EncodedTable
from regard.tables.encode.target import TargetTransform
from regard.tables.predictor import Predictor

MAX_CONTEXT_ROWS = 8192  # of one forward pass
ALL_MEMBERS_ROWS = 1000  # context rows up to which every member is worth its time
SHORT_CONTEXT = 3000  # rows of a context that is read fast
MIN_MEMBERS = 2  # however many context rows
MAX_STATISTICS_ROWS = 16_384  # of a large table, for column statistics and closed forms
MAX_COLUMNS = 64
MAX_LABEL_STATISTICS = 30_000_000  # cells × classes: each cell has a label mean for each class


@dataclass(frozen=True)
class Member:
    """How one member reads the table."""

    context_rows: Tensor  # rows that query rows attend to
    statistics_rows: Tensor  # rows of column statistics and closed forms: those and, of a large table, more; ascending
    columns: Tensor
    column_codes: Float[Tensor, "one column code"]
    class_order: Tensor  # class_order[0] is the network's first class
    transform: TargetTransform | None  # of a numeric target

    @property
    def statistics_key(self) -> bytes:
        """Equal for members with the same column statistics and closed forms, whatever context rows they read."""
        tensors = [self.statistics_rows, self.columns, self.class_order]
        tensors += [self.transform.numbers, self.transform.scores] if self.transform else []
        return b"".join(tensor.numpy().tobytes() for tensor in tensors)

    def select(self, values: Float[Tensor, "row column"]) -> Float[Tensor, "one row chosen"]:
        """The columns that this member reads."""
        return values[None, :, self.columns]

    def encode_target(self, target: Float[Tensor, " row"]) -> Float[Tensor, "one row"]:
        """The target as the network reads it."""
        if self.transform is not None:
            return self.transform.forward(target)[None].float()
        return self.class_order.argsort()[target.long()][None].float()


@dataclass(frozen=True)
class Ensemble:
    """A weighted average of predictors, calibrated."""

    predictors: Sequence[Predictor]
    weights: Sequence[float]
    calibration: Calibration = Calibration()
    attends_to_labels = True

    def predict(self, values: Float[Tensor, "row column"]) -> Float[Tensor, "row prediction"]:
        parts = [weight * one.predict(values) for one, weight in zip(self.predictors, self.weights, strict=True)]
        return self.calibration.apply(torch.stack(parts).sum(0))

    def row_weights(self, values: Float[Tensor, "row column"]) -> Float[Tensor, "row context"]:
        parts = zip(self.predictors, self.weights, strict=True)
        return torch.stack([weight * one.row_weights(values) for one, weight in parts]).sum(0)


def draw_member(table: EncodedTable, number: int, seed: int) -> Member:
    generator = torch.Generator().manual_seed(seed_for("view", seed, number))
    transform = None
    if not table.classes:
        kind = TargetTransform.quantile if number % 2 else TargetTransform.standardise
        transform = kind(table.target)
    statistics = _statistics_rows(table, seed)
    context = statistics[_sample_rows(table.take(statistics), context_size(table), generator)]
    if len(statistics) <= 2 * len(context):  # then the context rows do, and allow an exact kernel ridge
        statistics = context
    columns = _sample_columns(table.take(context), generator)
    return Member(
        context_rows=context,
        statistics_rows=statistics,
        columns=columns,
        column_codes=torch.randn(1, len(columns), COLUMN_CODE, generator=generator),
        class_order=torch.randperm(max(table.classes, 1), generator=generator),
        transform=transform,
    )


def affordable_members(table: EncodedTable, count: int) -> int:
    """How many of `count` members read a table.

    The more context rows, the longer a member takes and the more alike members are. Few members that read all rows of a
    large table predict better, and sooner, than many that read a sample each.
    """
    rows = min(len(table.values), context_size(table))
    return max(min(count, MIN_MEMBERS), int(count / max(1.0, rows / ALL_MEMBERS_ROWS)))


def context_size(table: EncodedTable) -> int:
    """How many context rows one pass reads: fewer if there are very many classes."""
    labels = max(table.classes, 1) * min(table.values.shape[1], MAX_COLUMNS)
    return min(MAX_CONTEXT_ROWS, max(MAX_CONTEXT_ROWS // 25, MAX_LABEL_STATISTICS // labels))


def _statistics_rows(table: EncodedTable, seed: int) -> Tensor:
    """The rows from which members draw their context: all or, of a very large table, a sample common to them."""
    labels = max(table.classes, 1) * min(table.values.shape[1], MAX_COLUMNS)
    most = max(context_size(table), min(MAX_STATISTICS_ROWS, MAX_LABEL_STATISTICS // labels))
    return _sample_rows(table, most, Generator().manual_seed(seed_for("counted", seed)))


def _sample_rows(table: EncodedTable, most: int, generator: Generator) -> Tensor:
    """All rows or, of a large table, a sample that keeps rare classes; ascending."""
    count = len(table.values)
    if count <= most:
        return torch.arange(count)
    keys = torch.rand(count, generator=generator)
    if table.classes:
        # Rows are taken by their position within their class, relative to its share, so that small classes stay whole.
        order = (table.target * 2 + keys).argsort()
        sizes = torch.bincount(table.target.long(), minlength=table.classes)
        position = torch.cat([torch.arange(int(size)) for size in sizes])
        share = (sizes.double() / count)[table.target.long()[order]]
        priority = torch.empty(count, dtype=torch.double)
        priority[order] = position / (share * most).clamp(min=16)
        return priority.argsort()[:most].sort().values
    return keys.argsort()[:most].sort().values


def _sample_columns(table: EncodedTable, generator: Generator) -> Tensor:
    """All columns that vary or, of a wide table, a sample weighted by their correlation with the target."""
    cells = table.values.nan_to_num(nan=torch.inf)
    columns = (cells != cells[:1]).any(0).nonzero()[:, 0]
    if not len(columns):
        return torch.arange(1)  # the network needs at least one
    if len(columns) <= MAX_COLUMNS:
        return columns
    weight = 0.02 + relevance(replace(table, values=table.values[:, columns]))
    keys = torch.rand(len(columns), generator=generator).clamp(min=1e-9).log() / weight
    return columns[keys.argsort(descending=True)[:MAX_COLUMNS].sort().values]


def relevance(table: EncodedTable) -> Float[Tensor, " column"]:
    """The largest absolute rank correlation of each column with the target, or with an indicator of a class."""
    filled = table.values.where(table.values.isfinite(), table.values.nanmedian(0).values)
    ranks = _ranks(filled)
    if table.classes:
        frequent = torch.bincount(table.target.long(), minlength=table.classes).argsort(descending=True)[:10]
        targets = (table.target[:, None] == frequent).float()
    else:
        targets = _ranks(table.target[:, None])
    ranks, targets = (x - x.mean(0) for x in (ranks, targets))
    correlation = ranks.T @ targets / (ranks.norm(dim=0)[:, None] * targets.norm(dim=0)).clamp(min=1e-6)
    return correlation.abs().amax(1)


def _ranks(values: Float[Tensor, "row column"]) -> Float[Tensor, "row column"]:
    """Ranks in which ties share their mean."""
    from scipy.stats import rankdata  # takes a second to import, and few commands need it

    return torch.from_numpy(rankdata(values.numpy(), axis=0)).float()
