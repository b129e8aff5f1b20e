"""From nodes to columns as in real tables: categories, counts, skew, missing cells, and irrelevant columns."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Generator, Tensor

from regard.tables.prior.scm import Nodes, bernoulli, randint, standardise, uniform


@dataclass(frozen=True)
class SyntheticColumns:
    values: Float[Tensor, "table row column"]  # of the cells; NaN where missing
    effects: Float[Tensor, "table row column"]  # of the cells on the target, also of missing ones
    category: Bool[Tensor, "table column"]


def make_columns(generator: Generator, nodes: Nodes) -> SyntheticColumns:
    """A column of every node. Tables of a group share which columns are categories, and nothing else."""
    categories = 0.0 if bernoulli(generator, 0.35) else uniform(generator, 0.1, 1.0)
    plain, discrete, skewed = nodes, _discretise(generator, nodes), _skew(generator, nodes)
    kind = torch.rand(nodes.shape[0], 1, nodes.shape[2], generator=generator)
    numbers = torch.where(kind < 0.2, discrete, torch.where(kind > 0.75, skewed, plain))
    codes, effect = _categories(generator, nodes)
    category = torch.rand(nodes.shape[2], generator=generator) < categories
    values = torch.where(category, codes, numbers)
    effects = torch.where(category, effect, standardise(numbers))
    values = _shuffle_some(generator, values)
    return SyntheticColumns(_remove_some(generator, values), effects, category.expand(len(nodes), -1))


def _discretise(generator: Generator, x: Nodes) -> Nodes:
    """Few distinct numbers: counts, ratings, binary."""
    fineness = 0.4 + 3 * torch.rand(x.shape[0], 1, x.shape[2], generator=generator)
    return torch.where(fineness < 1.2, (x > fineness - 0.8).float(), (x * fineness).round())


def _skew(generator: Generator, x: Nodes) -> Nodes:
    """Long tails on one side or on both."""
    kind = torch.rand(x.shape[0], 1, x.shape[2], generator=generator)
    power = 1 + 2 * torch.rand(x.shape[0], 1, x.shape[2], generator=generator)
    both = x.sign() * x.abs() ** power
    return torch.where(kind < 0.6, (x * power * 0.7).clamp(-8, 8).exp(), both)


def _categories(generator: Generator, x: Nodes) -> tuple[Tensor, Tensor]:
    """Codes in random order, and the effect of each: that of the node it discretises, or one of its own."""
    tables, rows, columns = x.shape
    most = 2 + int(uniform(generator, 0.0, 1.0) ** 2 * 28)
    if bernoulli(generator, 0.1):
        most = randint(generator, 20, 120)
    levels = 2 + (torch.rand(tables, 1, columns, generator=generator) ** 2 * (most - 1)).floor()
    # Uneven bins of the ranks make some categories frequent and others rare.
    rank = x.argsort(1).argsort(1) / rows
    evenness = 0.5 + 2 * torch.rand(tables, 1, columns, generator=generator)
    level = (rank**evenness * levels).floor().clamp(max=levels - 1).long()
    size = int(levels.max())
    shuffled = torch.rand(tables, size, columns, generator=generator).masked_fill(
        torch.arange(size)[:, None] >= levels, 2.0
    )
    code = shuffled.argsort(1).argsort(1).gather(1, level).float()
    values = torch.randn(tables, size, columns, generator=generator).gather(1, level)
    from_code = torch.rand(tables, 1, columns, generator=generator) < 0.5
    return code, standardise(torch.where(from_code, values, level.float()))


def _shuffle_some(generator: Generator, values: Tensor) -> Tensor:
    """Shuffle some columns: they look like the others and are irrelevant."""
    if bernoulli(generator, 0.5):
        return values
    share = uniform(generator, 0.0, 0.5)
    irrelevant = torch.rand(values.shape[0], 1, values.shape[2], generator=generator) < share
    return torch.where(irrelevant, values.roll(1, 1), values)


def _remove_some(generator: Generator, values: Tensor) -> Tensor:
    """Missing cells: completely at random, or where the cell itself, or that of another column, is large."""
    if bernoulli(generator, 0.65):
        return values
    rate = torch.rand(values.shape[0], 1, values.shape[2], generator=generator) ** 3 * uniform(generator, 0.05, 0.9)
    rate = rate * (torch.rand(values.shape[0], 1, values.shape[2], generator=generator) < uniform(generator, 0.1, 1.0))
    at_random = torch.rand(values.shape, generator=generator)
    reason = values if bernoulli(generator, 0.5) else values.roll(1, 2)
    by_value = 1 - reason.argsort(1).argsort(1) / values.shape[1] + 0.3 * (at_random - 0.5)
    missing = (at_random if bernoulli(generator, 0.6) else by_value) < rate
    return values.masked_fill(missing, torch.nan)
