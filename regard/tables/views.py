"""Views of a table: the same network looks several times, each time otherwise, and its answers are averaged.

What a table says must not depend on the order of its columns or on which class is called the first. The network has
not learned that perfectly, so each view draws both anew; and a table that is too large to be read whole is read in
parts that differ from view to view.
"""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float
from scipy.stats import rankdata
from torch import Generator, Tensor

from regard.core.machine import seed_for
from regard.models.in_context import COLUMN_CODE
from regard.tables.target import Scale

MOST_ROWS = 3000  # read at once
MOST_COUNTED = 16_384  # rows of a large table by which its columns are known, and resemblance
MOST_COLUMNS = 64
LABELS_AT_ONCE = 30_000_000  # cells × classes: each cell is told what it says about each class


@dataclass(frozen=True)
class Table:
    """A table as the network reads it."""

    values: Float[Tensor, "row column"]  # numbers, or codes of categories; NaN where missing
    category: Bool[Tensor, " column"]
    target: Float[Tensor, " row"]  # the number of a class, or a number
    classes: int  # 0: numbers

    def rows(self, chosen: Tensor) -> "Table":
        return replace(self, values=self.values[chosen], target=self.target[chosen])


@dataclass(frozen=True)
class View:
    rows: Tensor  # that are read: they are looked at, and vote
    counted: Tensor  # by which columns and resemblance are known: those and, of a large table, others; rising too
    columns: Tensor
    codes: Float[Tensor, "one seen code"]
    order: Tensor  # of the classes: the first to the network is order[0]
    scale: Scale | None

    @property
    def alike(self) -> bytes:
        """The same for all views that count the same cells and labels, whatever rows they read."""
        shown = [self.counted, self.columns, self.order]
        shown += [self.scale.numbers, self.scale.places] if self.scale else []
        return b"".join(part.numpy().tobytes() for part in shown)

    def see(self, values: Float[Tensor, "row column"]) -> Float[Tensor, "one row seen"]:
        return values[None, :, self.columns]

    def show(self, target: Float[Tensor, " row"]) -> Float[Tensor, "one row"]:
        """The target as the network counts it."""
        if self.scale is not None:
            return self.scale.show(target)[None].float()
        return self.order.argsort()[target.long()][None].float()


def draw_view(table: Table, number: int, seed: int) -> View:
    chance = torch.Generator().manual_seed(seed_for("view", seed, number))
    scale = None
    if not table.classes:
        scale = Scale.bent(table.target) if number % 2 else Scale.straight(table.target)
    counted = _counted(table, seed)
    rows = counted[_some_rows(table.rows(counted), rows_at_once(table), chance)]
    if len(counted) <= 2 * len(rows):  # then those that are read do as well: they can all be compared with each other
        counted = rows
    columns = _some_columns(table.rows(rows), chance)
    return View(
        rows=rows,
        counted=counted,
        columns=columns,
        codes=torch.randn(1, len(columns), COLUMN_CODE, generator=chance),
        order=torch.randperm(max(table.classes, 1), generator=chance),
        scale=scale,
    )


def rows_at_once(table: Table) -> int:
    """How many rows are read at once: fewer where each cell says something about very many classes."""
    labels = max(table.classes, 1) * min(table.values.shape[1], MOST_COLUMNS)
    return min(MOST_ROWS, max(MOST_ROWS // 10, LABELS_AT_ONCE // labels))


def _counted(table: Table, seed: int) -> Tensor:
    """Rows among which every view reads some: all of them or, of a very large table, the same part for all views."""
    labels = max(table.classes, 1) * min(table.values.shape[1], MOST_COLUMNS)
    most = max(rows_at_once(table), min(MOST_COUNTED, LABELS_AT_ONCE // labels))
    return _some_rows(table, most, Generator().manual_seed(seed_for("counted", seed)))


def _some_rows(table: Table, most: int, chance: Generator) -> Tensor:
    """All of them or, of a large table, a part in which rare classes are not lost; rising."""
    count = len(table.values)
    if count <= most:
        return torch.arange(count)
    keys = torch.rand(count, generator=chance)
    if table.classes:
        # Rows are taken in the order of their turn within their class, so that small classes come whole.
        order = (table.target * 2 + keys).argsort()
        sizes = torch.bincount(table.target.long(), minlength=table.classes)
        turn = torch.cat([torch.arange(int(size)) for size in sizes])
        share = (sizes.double() / count)[table.target.long()[order]]
        needed = torch.empty(count, dtype=torch.double)
        needed[order] = turn / (share * most).clamp(min=16)
        return needed.argsort()[:most].sort().values
    return keys.argsort()[:most].sort().values


def _some_columns(table: Table, chance: Generator) -> Tensor:
    """All that tell rows apart or, of a wide table, some: those that seem to matter more often than the rest."""
    cells = table.values.nan_to_num(nan=torch.inf)
    columns = (cells != cells[:1]).any(0).nonzero()[:, 0]
    if not len(columns):
        return torch.arange(1)  # there must be something to read
    if len(columns) <= MOST_COLUMNS:
        return columns
    weight = 0.02 + _relevance(replace(table, values=table.values[:, columns]))
    keys = torch.rand(len(columns), generator=chance).clamp(min=1e-9).log() / weight
    return columns[keys.argsort(descending=True)[:MOST_COLUMNS].sort().values]


def _relevance(table: Table) -> Float[Tensor, " column"]:
    """The largest correlation of each column, by rank, with the target or with a class of it."""
    filled = table.values.where(table.values.isfinite(), table.values.nanmedian(0).values)
    ranks = _mean_ranks(filled)
    if table.classes:
        common = torch.bincount(table.target.long(), minlength=table.classes).argsort(descending=True)[:10]
        goals = (table.target[:, None] == common).float()
    else:
        goals = _mean_ranks(table.target[:, None])
    ranks, goals = (x - x.mean(0) for x in (ranks, goals))
    match = ranks.T @ goals / (ranks.norm(dim=0)[:, None] * goals.norm(dim=0)).clamp(min=1e-6)
    return match.abs().amax(1)


def _mean_ranks(values: Float[Tensor, "row column"]) -> Float[Tensor, "row column"]:
    """Equal values share a rank: in the order of their rows they would seem to say something."""
    return torch.from_numpy(rankdata(values.numpy(), axis=0)).float()
