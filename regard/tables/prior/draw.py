"""Synthetic tables: columns from a structural causal model, a target function of them, then noise and defects."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Generator, Tensor

from regard.core.batches import Batch
from regard.core.errors import ConfigError, at_least
from regard.core.machine import seed_for
from regard.data.tables.batch import TableBatch, TableGroups
from regard.tables.prior import flat_rules
from regard.tables.prior.columns import SyntheticColumns, make_columns
from regard.tables.prior.many_levels import add_many_levels
from regard.tables.prior.scm import bernoulli, draw_nodes, randint, standardise, uniform
from regard.tables.prior.target_functions import draw_scores

COLUMN_CODE = 8  # length of a column code
CLIP = 8.0  # standard deviations of a numeric target
LONG_BUDGET = 6  # budgets that a long table may take

Family = Literal["common", "flat rule", "many levels"]


@dataclass(frozen=True)
class Prior:
    """The distribution of tables. A group has tables of one shape, as many as its budget of cells allows."""

    min_rows: int = 32
    max_rows: int = 1024
    max_columns: int = 64
    max_classes: int = 12
    regression: float = 0.45  # fraction of groups with a numeric target
    flat_rules: float = 0.1  # fraction of groups whose target follows a rule with flat marginals
    many_levels: float = 0.05  # fraction of groups with categories of hundreds or thousands of levels
    long: float = 0.0  # fraction of groups with more than `max_rows` rows
    long_rows: int = 8192  # at most, of these
    budget: int = 24_000  # cells of a group
    groups: int = 8  # in a step
    seed: int = 0

    def __post_init__(self) -> None:
        at_least(8, min_rows=self.min_rows)
        at_least(1, max_columns=self.max_columns, groups=self.groups)
        at_least(2, max_classes=self.max_classes)
        if self.max_rows < self.min_rows:
            raise ConfigError(f"max_rows: {self.max_rows} is less than min_rows {self.min_rows}")
        for name in ("regression", "flat_rules", "many_levels", "long"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(f"{name}: must be between 0 and 1, not {getattr(self, name)}")
        if self.flat_rules + self.many_levels > 1:
            raise ConfigError("many_levels: with flat_rules, more than 1")
        if self.long and self.long_rows < self.max_rows:
            raise ConfigError(f"long_rows: {self.long_rows} is less than max_rows {self.max_rows}")


@dataclass(frozen=True)
class Shape:
    tables: int
    rows: int
    context: int
    columns: int
    classes: int  # 0: regression

    @property
    def cost(self) -> float:
        """Measured cost of a training step, in cells: a row costs thirty, and more with more context rows."""
        return self.tables * self.rows * (self.columns + 30 + self.context / 8)


def draw_shape(prior: Prior, generator: Generator) -> Shape:
    """Rows are log-uniform, and small tables come in larger groups."""
    ratio = prior.max_rows / prior.min_rows
    rows = int(prior.min_rows * ratio ** uniform(generator, 0.0, 1.0))
    columns = max(1, int(prior.max_columns ** uniform(generator, 0.15, 1.0)))
    tables = max(1, min(48, prior.budget // (rows * (columns + 6))))
    context = max(4, int(rows * uniform(generator, 0.5, 0.9)))
    classes = 0
    if not bernoulli(generator, prior.regression):
        classes = 2 if bernoulli(generator, 0.5) else randint(generator, 3, prior.max_classes + 1)
    return Shape(tables, rows, context, columns, classes)


def shape_of(prior: Prior, number: int) -> Shape:
    """The shape of the group with this number, without drawing it."""
    return _shape(prior, number, _generator(prior, number))


def _shape(prior: Prior, number: int, generator: Generator) -> Shape:
    """The shape of a common group of this number, changed where its family asks for another."""
    shape = draw_shape(prior, generator)
    kinds = torch.Generator().manual_seed(seed_for("long", prior.seed, number))
    if bernoulli(kinds, prior.long):
        rows = int(prior.max_rows * (prior.long_rows / prior.max_rows) ** uniform(kinds, 0.0, 1.0))
        columns = max(1, min(shape.columns, LONG_BUDGET * prior.budget // rows - 6))
        context = max(4, int(rows * shape.context / shape.rows))
        return replace(shape, tables=1, rows=rows, columns=columns, context=context)
    if family_of(prior, number) == "flat rule":
        return replace(shape, columns=min(max(2, shape.columns), flat_rules.MAX_COLUMNS))
    return shape


def family_of(prior: Prior, number: int) -> Family:
    """Drawn apart from everything else: groups of the common family are the same whatever the share of the others."""
    chosen = uniform(torch.Generator().manual_seed(seed_for("family", prior.seed, number)), 0.0, 1.0)
    if chosen < prior.flat_rules:
        return "flat rule"
    return "many levels" if chosen > 1 - prior.many_levels else "common"


def draw_group(prior: Prior, number: int) -> TableBatch:
    """The group with this number: a deterministic function of prior and number."""
    generator = _generator(prior, number)
    shape = _shape(prior, number, generator)
    family = family_of(prior, number)
    if family == "flat rule" and shape.columns > 1:
        columns, target = _draw_flat_rule(generator, shape)
    else:
        columns, target = _draw_columns_and_target(generator, shape, many_levels=family == "many levels")
    codes = torch.randn(shape.tables, shape.columns, COLUMN_CODE, generator=generator)
    return TableBatch(columns.values, columns.category, target, shape.context, shape.classes, codes)


def _draw_flat_rule(generator: Generator, shape: Shape) -> tuple[SyntheticColumns, Tensor]:
    rule = flat_rules.draw_rule(generator, shape.columns, shape.context, shape.classes)
    columns, target = flat_rules.draw_flat_rule(
        generator, rule, tables=shape.tables, rows=shape.rows, columns=shape.columns, classes=shape.classes
    )
    return columns, _without_unseen(target.long(), shape) if shape.classes else _scaled(target, shape)


def _draw_columns_and_target(
    generator: Generator, shape: Shape, *, many_levels: bool
) -> tuple[SyntheticColumns, Tensor]:
    spare = randint(generator, 1, 2 + shape.columns)  # nodes that are not columns
    nodes = draw_nodes(generator, shape.tables, shape.rows, shape.columns + spare)
    nodes = _shuffled(generator, nodes)
    columns = make_columns(generator, nodes[:, :, : shape.columns])
    scores = max(1, shape.classes) if bernoulli(generator, 0.6) else 1
    if bernoulli(generator, 0.35):  # the target is a node of the graph, and some columns are its effects
        target = nodes[:, :, shape.columns : shape.columns + scores]
        target = target if target.shape[2] == scores else target[:, :, :1]
    else:
        hidden = nodes[:, :, shape.columns :][:, :, :2] * uniform(generator, 0.0, 0.4)
        target = draw_scores(generator, torch.cat([columns.effects, hidden], 2), scores)
    if many_levels:
        columns, effect = add_many_levels(generator, columns, shape.context, target.shape[2])
        target = torch.lerp(standardise(target), effect, uniform(generator, 0.2, 0.9))
    noise = 0.0 if bernoulli(generator, 0.3) else 10 ** uniform(generator, -2.0, 0.0)
    target = standardise(target) + noise * torch.randn(target.shape, generator=generator)
    return columns, _classes(generator, target, shape) if shape.classes else _numbers(generator, target, shape)


def _generator(prior: Prior, number: int) -> Generator:
    return torch.Generator().manual_seed(seed_for("tables", prior.seed, number))


def _shuffled(generator: Generator, nodes: Tensor) -> Tensor:
    order = torch.rand(nodes.shape[0], nodes.shape[2], generator=generator).argsort(1)
    return nodes.gather(2, order[:, None].expand(-1, nodes.shape[1], -1))


def _classes(generator: Generator, scores: Tensor, shape: Shape) -> Tensor:
    """The class with the largest score plus a class bias; or one score, binned unevenly."""
    tables, classes = shape.tables, shape.classes
    if scores.shape[2] == classes:
        bias = torch.randn(tables, 1, classes, generator=generator) * uniform(generator, 0.0, 1.2)
        label = (scores + bias).argmax(2)
    else:
        shares = torch.rand(tables, classes, generator=generator) ** uniform(generator, 0.0, 2.5) + 0.02
        thresholds = (shares / shares.sum(1, keepdim=True)).cumsum(1)[:, None, :-1]
        rank = scores[:, :, 0].argsort(1).argsort(1)[..., None] / shape.rows
        label = (rank > thresholds).sum(2)
        order = torch.rand(tables, classes, generator=generator).argsort(1)
        label = order.gather(1, label)
    if bernoulli(generator, 0.3):
        wrong = torch.rand(label.shape, generator=generator) < uniform(generator, 0.0, 0.2)
        label = torch.where(wrong, label[:, torch.randperm(shape.rows, generator=generator)], label)
    return _without_unseen(label, shape)


def _without_unseen(label: Tensor, shape: Shape) -> Tensor:
    """A class without context rows cannot be predicted."""
    seen = torch.zeros(shape.tables, shape.classes).scatter_(1, label[:, : shape.context], 1.0)
    return torch.where(seen.gather(1, label) > 0, label.float(), torch.nan)


def _numbers(generator: Generator, score: Tensor, shape: Shape) -> Tensor:
    """One score, unchanged, skewed, censored or rounded."""
    y = score[:, :, 0]
    kind = uniform(generator, 0.0, 1.0)
    if kind < 0.2:
        y = (y * uniform(generator, 0.3, 1.2)).clamp(max=6).exp()
    elif kind < 0.28:
        y = y.clamp(min=uniform(generator, -1.0, 0.5))
    elif kind < 0.36:
        y = (y * uniform(generator, 0.7, 4.0)).round()
    return _scaled(y, shape)


def _scaled(y: Tensor, shape: Shape) -> Tensor:
    """Mean 0 and standard deviation 1 over the context rows."""
    known = y[:, : shape.context]
    spread = known.std(1, keepdim=True).clamp(min=1e-4)
    return ((y - known.mean(1, keepdim=True)) / spread).clamp(-CLIP, CLIP)


@dataclass(frozen=True)
class Groups:
    """Groups by number, drawn when they are moved to a device, so that each rank draws only its own."""

    prior: Prior
    numbers: tuple[int, ...]

    @property
    def rows(self) -> int:
        return len(self.numbers)

    @property
    def size(self) -> int:
        return self.prior.budget * len(self.numbers)

    def shard(self, index: int, count: int) -> "Groups":
        """One of several parts of about equal cost, as ranks wait for the slowest."""
        parts: list[list[int]] = [[] for _ in range(count)]
        costs = [0.0] * count
        for cost, group in sorted(((shape_of(self.prior, group).cost, group) for group in self.numbers), reverse=True):
            least = costs.index(min(costs))
            parts[least].append(group)
            costs[least] += cost
        return Groups(self.prior, tuple(parts[index]))

    def to(self, device: str) -> "TableGroups":
        return TableGroups([draw_group(self.prior, number).to(device) for number in self.numbers])


@dataclass(frozen=True)
class SyntheticTables:
    """An endless stream of batches: every step draws new tables."""

    prior: Prior
    held_out: int = 0  # groups for evaluation, which training never draws
    fixed_shape = False
    steps_per_epoch = 1000  # nominal: there is no epoch

    def batch(self, step: int) -> Groups:
        first = step * self.prior.groups
        return Groups(self.prior, tuple(range(first, first + self.prior.groups)))

    def once(self) -> Iterator[Batch]:
        for number in range(1, self.held_out + 1):
            yield Groups(self.prior, (-number,))
