"""Invented tables: columns from causes, a target from columns, then what real data suffers from."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from regard.core.batches import Batch
from regard.core.errors import ConfigError, at_least
from regard.core.machine import seed_for
from regard.data.tables.batch import TableBatch, TableGroups
from regard.tables.prior.answers import draw_scores
from regard.tables.prior.causes import draw_nodes, often, standard, uniform, whole
from regard.tables.prior.columns import make_columns

CODE = 8  # random numbers a column
FARTHEST = 8.0  # deviations: targets beyond are cut, or one would outweigh a table


@dataclass(frozen=True)
class Prior:
    """Which tables are drawn: as many in a group as the budget of cells allows, all of one shape."""

    fewest_rows: int = 32
    most_rows: int = 1024
    most_columns: int = 64
    most_classes: int = 12
    numbers: float = 0.45  # share of groups whose targets are numbers
    budget: int = 24_000  # cells of a group
    groups: int = 8  # in a step
    seed: int = 0

    def __post_init__(self) -> None:
        at_least(8, fewest_rows=self.fewest_rows)
        at_least(1, most_columns=self.most_columns, groups=self.groups)
        at_least(2, most_classes=self.most_classes)
        if self.most_rows < self.fewest_rows:
            raise ConfigError(f"most_rows: {self.most_rows} is less than fewest_rows {self.fewest_rows}")


@dataclass(frozen=True)
class Shape:
    tables: int
    rows: int
    known: int
    columns: int
    classes: int  # 0: numbers

    @property
    def cost(self) -> float:
        """Of learning from it, as measured, in cells: a row costs as much as thirty, and more the more rows it sees."""
        return self.tables * self.rows * (self.columns + 30 + self.known / 8)


def draw_shape(prior: Prior, chance: Generator) -> Shape:
    """Small tables are drawn more often than large ones, in proportion to what they cost."""
    ratio = prior.most_rows / prior.fewest_rows
    rows = int(prior.fewest_rows * ratio ** uniform(chance, 0.0, 1.0))
    columns = max(1, int(prior.most_columns ** uniform(chance, 0.15, 1.0)))
    tables = max(1, min(48, prior.budget // (rows * (columns + 6))))
    known = max(4, int(rows * uniform(chance, 0.5, 0.9)))
    classes = 0
    if not often(chance, prior.numbers):
        classes = 2 if often(chance, 0.5) else whole(chance, 3, prior.most_classes + 1)
    return Shape(tables, rows, known, columns, classes)


def shape_of(prior: Prior, number: int) -> Shape:
    """The shape of the group of this number, without its tables."""
    return draw_shape(prior, _chance(prior, number))


def draw_group(prior: Prior, number: int) -> TableBatch:
    """The group of this number: the same on every machine, whoever draws it."""
    chance = _chance(prior, number)
    shape = draw_shape(prior, chance)
    spare = whole(chance, 1, 2 + shape.columns)  # nodes that nobody sees
    nodes = draw_nodes(chance, shape.tables, shape.rows, shape.columns + spare)
    nodes = _shuffled(chance, nodes)
    drawn = make_columns(chance, nodes[:, :, : shape.columns])
    scores = max(1, shape.classes) if often(chance, 0.6) else 1
    if often(chance, 0.35):  # the target is a node of the graph itself, whose effects are columns too
        target = nodes[:, :, shape.columns : shape.columns + scores]
        target = target if target.shape[2] == scores else target[:, :, :1]
    else:
        hidden = nodes[:, :, shape.columns :][:, :, :2] * uniform(chance, 0.0, 0.4)
        target = draw_scores(chance, torch.cat([drawn.felt, hidden], 2), scores)
    noise = 0.0 if often(chance, 0.3) else 10 ** uniform(chance, -2.0, 0.0)
    target = standard(target) + noise * torch.randn(target.shape, generator=chance)
    target = _classes(chance, target, shape) if shape.classes else _numbers(chance, target, shape)
    codes = torch.randn(shape.tables, shape.columns, CODE, generator=chance)
    return TableBatch(drawn.shown, drawn.category, target, shape.known, shape.classes, codes)


def _chance(prior: Prior, number: int) -> Generator:
    return torch.Generator().manual_seed(seed_for("tables", prior.seed, number))


def _shuffled(chance: Generator, nodes: Tensor) -> Tensor:
    order = torch.rand(nodes.shape[0], nodes.shape[2], generator=chance).argsort(1)
    return nodes.gather(2, order[:, None].expand(-1, nodes.shape[1], -1))


def _classes(chance: Generator, scores: Tensor, shape: Shape) -> Tensor:
    """The best score's number, with some classes favoured; or one score cut at uneven places."""
    tables, classes = shape.tables, shape.classes
    if scores.shape[2] == classes:
        favour = torch.randn(tables, 1, classes, generator=chance) * uniform(chance, 0.0, 1.2)
        label = (scores + favour).argmax(2)
    else:
        shares = torch.rand(tables, classes, generator=chance) ** uniform(chance, 0.0, 2.5) + 0.02
        edges = (shares / shares.sum(1, keepdim=True)).cumsum(1)[:, None, :-1]
        rank = scores[:, :, 0].argsort(1).argsort(1)[..., None] / shape.rows
        label = (rank > edges).sum(2)
        order = torch.rand(tables, classes, generator=chance).argsort(1)
        label = order.gather(1, label)
    if often(chance, 0.3):
        wrong = torch.rand(label.shape, generator=chance) < uniform(chance, 0.0, 0.2)
        label = torch.where(wrong, label[:, torch.randperm(shape.rows, generator=chance)], label)
    seen = torch.zeros(tables, classes).scatter_(1, label[:, : shape.known], 1.0)
    return torch.where(seen.gather(1, label) > 0, label.float(), torch.nan)  # nobody can name what nobody has shown


def _numbers(chance: Generator, score: Tensor, shape: Shape) -> Tensor:
    """One score as it is, or skewed, cut off, or in steps."""
    y = score[:, :, 0]
    kind = uniform(chance, 0.0, 1.0)
    if kind < 0.2:
        y = (y * uniform(chance, 0.3, 1.2)).clamp(max=6).exp()
    elif kind < 0.28:
        y = y.clamp(min=uniform(chance, -1.0, 0.5))
    elif kind < 0.36:
        y = (y * uniform(chance, 0.7, 4.0)).round()
    known = y[:, : shape.known]
    spread = known.std(1, keepdim=True).clamp(min=1e-4)
    return ((y - known.mean(1, keepdim=True)) / spread).clamp(-FARTHEST, FARTHEST)


@dataclass(frozen=True)
class Groups:
    """Groups that are still to be drawn, by whoever needs them; a rank draws its own only."""

    prior: Prior
    numbers: tuple[int, ...]

    @property
    def rows(self) -> int:
        return len(self.numbers)

    @property
    def size(self) -> int:
        return self.prior.budget * len(self.numbers)

    def shard(self, index: int, count: int) -> "Groups":
        """One of several shares that cost about the same, for ranks wait for the slowest of them."""
        shares: list[list[int]] = [[] for _ in range(count)]
        costs = [0.0] * count
        for cost, group in sorted(((shape_of(self.prior, group).cost, group) for group in self.numbers), reverse=True):
            least = costs.index(min(costs))
            shares[least].append(group)
            costs[least] += cost
        return Groups(self.prior, tuple(shares[index]))

    def to(self, device: str) -> "TableGroups":
        return TableGroups([draw_group(self.prior, number).to(device) for number in self.numbers])


@dataclass(frozen=True)
class InventedTables:
    """Batches without end: every step draws new tables."""

    prior: Prior
    held_out: int = 0  # groups to measure by, which training never draws
    fixed_shape = False
    steps_per_epoch = 1000  # there is no end to pass; a number to count by

    def batch(self, step: int) -> Groups:
        first = step * self.prior.groups
        return Groups(self.prior, tuple(range(first, first + self.prior.groups)))

    def once(self) -> Iterator[Batch]:
        for number in range(1, self.held_out + 1):
            yield Groups(self.prior, (-number,))
