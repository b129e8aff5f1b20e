"""Rules with flat marginals: parity, equality or a look-up table of a few columns, none of which says anything alone.

Statistics of single columns, and with them most of what a network learns on other tables, are blind to such targets.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor

from regard.tables.prior.columns import SyntheticColumns, make_columns
from regard.tables.prior.scm import bernoulli, draw_nodes, randint, uniform

MAX_COLUMNS = 16  # of a table with such a rule: among more, no network finds the few that matter
MAX_DECOYS = 6  # columns that look like those of the rule
ROWS_PER_CELL = 4  # context rows for each combination of levels, at least, or there is nothing to learn from

Levels = Int[Tensor, "table row column"]


@dataclass(frozen=True)
class Rule:
    kind: str  # parity, equality or lookup
    columns: int
    levels: int  # of each of these columns

    @property
    def outcomes(self) -> int:
        if self.kind == "parity":
            return self.levels
        return 2 if self.kind == "equality" else self.levels**self.columns


def draw_rule(generator: Generator, columns: int, context: int, classes: int) -> Rule:
    """A rule that so many context rows can show."""
    kind = ("parity", "equality", "lookup")[randint(generator, 0, 3)]
    count = min(columns, randint(generator, 2, 5 if kind == "parity" else 4))
    levels = 2 if kind == "parity" and bernoulli(generator, 0.7) else randint(generator, 2, 9)
    if kind == "parity" and classes:
        levels = min(levels, classes)
    while levels**count > max(4, context // ROWS_PER_CELL):
        count, levels = (count - 1, levels) if count > 2 else (count, levels - 1)
    return Rule(kind, count, levels)


def draw_flat_rule(
    generator: Generator, rule: Rule, *, tables: int, rows: int, columns: int, classes: int
) -> tuple[SyntheticColumns, Float[Tensor, "table row"]]:
    """The columns of the rule, some that look like them and some that do not, and the target."""
    similar = rule.columns + randint(generator, 0, min(columns - rule.columns, MAX_DECOYS) + 1)
    levels = torch.randint(rule.levels, (tables, rows, similar), generator=generator)
    category = torch.rand(similar, generator=generator) < (1.0 if bernoulli(generator, 0.3) else 0.4)
    values = _show(generator, levels, rule.levels, category)
    if columns > similar:
        others = make_columns(
            generator, draw_nodes(generator, tables, rows, columns - similar)[..., : columns - similar]
        )
        values = torch.cat([values, others.values], 2)
        category = torch.cat([category, others.category[0]])
    outcome = _outcome(rule, levels[:, :, : rule.columns])
    target = _classes(generator, outcome, rule, classes) if classes else _numbers(generator, outcome, rule)
    return SyntheticColumns(values, torch.zeros_like(values), category.expand(tables, -1)), target


def _outcome(rule: Rule, level: Levels) -> Int[Tensor, "table row"]:
    if rule.kind == "parity":
        return level.sum(2) % rule.levels
    if rule.kind == "equality":
        return (level[:, :, 1:] == level[:, :, :1]).any(2).long()
    return (level * rule.levels ** torch.arange(rule.columns)).sum(2)


def _show(
    generator: Generator, level: Levels, levels: int, category: Bool[Tensor, " column"]
) -> Float[Tensor, "table row column"]:
    """Levels as codes of categories, as numbers, or as ranges of a number, which may take turns."""
    tables, _, columns = level.shape
    order = torch.rand(tables, levels, columns, generator=generator).argsort(1)
    code = order.gather(1, level).float()
    turns = torch.randint(1, 3, (tables, 1, columns), generator=generator)
    turn = (torch.rand(level.shape, generator=generator) * turns).floor()
    place = (level + levels * turn + torch.rand(level.shape, generator=generator)) / (levels * turns)
    number = torch.special.ndtri(place.clamp(1e-4, 1 - 1e-4))
    kind = torch.rand(tables, 1, columns, generator=generator)
    number = torch.where(kind < 0.3, level.float(), torch.where(kind < 0.5, place, number))
    return torch.where(category, code, number)


def _classes(generator: Generator, outcome: Tensor, rule: Rule, classes: int) -> Float[Tensor, "table row"]:
    """A class for each outcome, with some wrong labels."""
    tables, rows = outcome.shape
    if rule.kind == "lookup":
        of_outcome = torch.randint(classes, (tables, rule.outcomes), generator=generator)
    else:
        of_outcome = torch.rand(tables, classes, generator=generator).argsort(1)
    label = of_outcome.gather(1, outcome)
    if bernoulli(generator, 0.5):
        wrong = torch.rand(label.shape, generator=generator) < uniform(generator, 0.0, 0.2)
        label = torch.where(wrong, label[:, torch.randperm(rows, generator=generator)], label)
    return label.float()


def _numbers(generator: Generator, outcome: Tensor, rule: Rule) -> Float[Tensor, "table row"]:
    """A number for each outcome; those of a look-up table sum to zero along each column of the rule."""
    tables, rows = outcome.shape
    value = torch.randn(tables, rule.outcomes, generator=generator)
    if rule.kind == "lookup":
        value = value.view(tables, *[rule.levels] * rule.columns)
        for column in range(1, rule.columns + 1):
            value = value - value.mean(column, keepdim=True)
        value = value.flatten(1)
    value = value / value.std(1, keepdim=True).clamp(min=1e-4)
    noise = uniform(generator, 0.0, 0.7) * torch.randn(tables, rows, generator=generator)
    return value.gather(1, outcome) + noise
