"""How nodes become columns as people have them: categories, counts, skew, gaps, and columns that say nothing."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Generator, Tensor

from regard.tables.prior.causes import Nodes, often, standard, uniform, whole


@dataclass(frozen=True)
class Drawn:
    shown: Float[Tensor, "table row column"]  # what the table holds; NaN where a cell is missing
    felt: Float[Tensor, "table row column"]  # what a cell does to the target, which a missing cell does unseen
    category: Bool[Tensor, "table column"]


def make_columns(chance: Generator, nodes: Nodes) -> Drawn:
    """A column of every node. Tables of one draw agree on which columns are categories, but on nothing else."""
    categories = 0.0 if often(chance, 0.35) else uniform(chance, 0.1, 1.0)
    plain, steps, skewed = nodes, _steps(chance, nodes), _skewed(chance, nodes)
    kind = torch.rand(nodes.shape[0], 1, nodes.shape[2], generator=chance)
    numbers = torch.where(kind < 0.2, steps, torch.where(kind > 0.75, skewed, plain))
    codes, effect = _categories(chance, nodes)
    category = torch.rand(nodes.shape[2], generator=chance) < categories
    shown = torch.where(category, codes, numbers)
    felt = torch.where(category, effect, standard(numbers))
    shown = _useless(chance, shown)
    return Drawn(_gaps(chance, shown), felt, category.expand(len(nodes), -1))


def _steps(chance: Generator, x: Nodes) -> Nodes:
    """Few distinct numbers: counts, ratings, yes or no."""
    fineness = 0.4 + 3 * torch.rand(x.shape[0], 1, x.shape[2], generator=chance)
    return torch.where(fineness < 1.2, (x > fineness - 0.8).float(), (x * fineness).round())


def _skewed(chance: Generator, x: Nodes) -> Nodes:
    """Long tails to one side or to both."""
    kind = torch.rand(x.shape[0], 1, x.shape[2], generator=chance)
    power = 1 + 2 * torch.rand(x.shape[0], 1, x.shape[2], generator=chance)
    both = x.sign() * x.abs() ** power
    return torch.where(kind < 0.6, (x * power * 0.7).clamp(-8, 8).exp(), both)


def _categories(chance: Generator, x: Nodes) -> tuple[Tensor, Tensor]:
    """Codes without order, and the effect of each: that of the node it was cut from, or one that its code alone has."""
    tables, rows, columns = x.shape
    most = 2 + int(uniform(chance, 0.0, 1.0) ** 2 * 28)
    if often(chance, 0.1):
        most = whole(chance, 20, 120)
    levels = 2 + (torch.rand(tables, 1, columns, generator=chance) ** 2 * (most - 1)).floor()
    # Uneven steps through the ranks make some categories common and others rare.
    rank = x.argsort(1).argsort(1) / rows
    evenness = 0.5 + 2 * torch.rand(tables, 1, columns, generator=chance)
    level = (rank**evenness * levels).floor().clamp(max=levels - 1).long()
    size = int(levels.max())
    shuffled = torch.rand(tables, size, columns, generator=chance).masked_fill(
        torch.arange(size)[:, None] >= levels, 2.0
    )
    code = shuffled.argsort(1).argsort(1).gather(1, level).float()
    own = torch.randn(tables, size, columns, generator=chance).gather(1, level)
    from_code = torch.rand(tables, 1, columns, generator=chance) < 0.5
    return code, standard(torch.where(from_code, own, level.float()))


def _useless(chance: Generator, shown: Tensor) -> Tensor:
    """Some columns are shuffled: they look like the rest and say nothing."""
    if often(chance, 0.5):
        return shown
    share = uniform(chance, 0.0, 0.5)
    useless = torch.rand(shown.shape[0], 1, shown.shape[2], generator=chance) < share
    return torch.where(useless, shown.roll(1, 1), shown)


def _gaps(chance: Generator, shown: Tensor) -> Tensor:
    """Missing cells: by chance alone, or where the cell itself, or another column's, is large."""
    if often(chance, 0.65):
        return shown
    rate = torch.rand(shown.shape[0], 1, shown.shape[2], generator=chance) ** 3 * uniform(chance, 0.05, 0.9)
    rate = rate * (torch.rand(shown.shape[0], 1, shown.shape[2], generator=chance) < uniform(chance, 0.1, 1.0))
    by_chance = torch.rand(shown.shape, generator=chance)
    reason = shown if often(chance, 0.5) else shown.roll(1, 2)
    by_reason = 1 - reason.argsort(1).argsort(1) / shown.shape[1] + 0.3 * (by_chance - 0.5)
    gone = (by_chance if often(chance, 0.6) else by_reason) < rate
    return shown.masked_fill(gone, torch.nan)
