"""Categories of hundreds or thousands of levels, few of them frequent and most of them rare, each with its own effect.

Post codes, products and customers are such columns: what is known of a level is what its few rows say.
"""

import math
from dataclasses import replace

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor

from regard.tables.prior.columns import SyntheticColumns
from regard.tables.prior.scm import bernoulli, randint, standardise, uniform

MIN_LEVELS, MAX_LEVELS = 100, 5000
MAX_COLUMNS = 3  # with many levels


def add_many_levels(
    generator: Generator, columns: SyntheticColumns, context: int, scores: int
) -> tuple[SyntheticColumns, Float[Tensor, "table row score"]]:
    """The first columns become categories of many levels; their effect on the scores comes with them."""
    values, category = columns.values.clone(), columns.category.clone()
    tables, rows, width = values.shape
    effect = torch.zeros(tables, rows, scores)
    for column in range(min(width, randint(generator, 1, MAX_COLUMNS + 1))):
        level, levels = draw_levels(generator, tables, rows)
        code = code_levels(generator, level, levels, context).float()
        values[:, :, column] = torch.where(values[:, :, column].isnan(), torch.nan, code)
        category[:, column] = True
        if column == 0 or bernoulli(generator, 0.6):  # others are irrelevant, like the number of a row
            of_level = torch.randn(tables, levels, scores, generator=generator)
            effect += uniform(generator, 0.3, 1.0) * of_level.gather(1, level[..., None].expand(-1, -1, scores))
    return replace(columns, values=values, category=category), standardise(effect)


def draw_levels(generator: Generator, tables: int, rows: int) -> tuple[Int[Tensor, "table row"], int]:
    """Levels from a Zipf distribution, and how many there are."""
    levels = int(math.exp(uniform(generator, math.log(MIN_LEVELS), math.log(MAX_LEVELS + 1))))
    share = torch.arange(1, levels + 1) ** -uniform(generator, 0.3, 1.5)
    chosen = torch.multinomial(share, tables * rows, replacement=True, generator=generator)
    return chosen.view(tables, rows), levels


def code_levels(
    generator: Generator, level: Int[Tensor, "table row"], levels: int, context: int
) -> Int[Tensor, "table row"]:
    """Codes in random order; levels that no context row has share the next code, as in any encoded table."""
    seen = torch.zeros(len(level), levels).scatter_(1, level[:, :context], 1.0)
    order = torch.rand(len(level), levels, generator=generator) + 2 * (1 - seen)
    code = order.argsort(1).argsort(1).gather(1, level)
    return torch.minimum(code, seen.sum(1, keepdim=True).long())
