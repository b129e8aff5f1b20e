"""The straight guess: what a linear model of the known rows says of each row, given to a network as a fact.

Much of what real tables say is nearly a sum over columns, and a small network needs long to learn to add exactly.
Least squares with a penalty (Hoerl & Kennard, 1970) has a closed form, and so has what it says of a known row when that
row is left out: nobody is told his own label. Columns enter as numbers and as ranks, categories by the mean label of
their rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

PENALTIES = (0.1, 1.0, 10.0, 100.0)  # in rows that say nothing; that is taken whose guesses err least
LEAST = 0.02  # of a row is left once it is left out: a row that is told by itself alone would be divided by nothing

Design = Float[Tensor, "table row entry"]
Guess = Float[Tensor, "table row label"]


def design_of(
    facts: Float[Tensor, "table row column fact"],
    means: Float[Tensor, "table row column few"],
    counts: Bool[Tensor, "table column"],
) -> Design:
    """What rows enter with: number and rank of the cells in columns that count something, mean labels in the others."""
    counts = counts[:, None, :, None]
    return torch.cat([facts[..., :2].where(counts, 0.0), means.where(~counts, 0.0)], -1).flatten(2)


@dataclass(frozen=True)
class StraightLine:
    """One linear model for each label of each table."""

    slope: Float[Tensor, "table entry label"]
    center: Float[Tensor, "table one entry"]
    level: Float[Tensor, "table one label"]
    own: Guess  # of the known rows, each by the others

    @classmethod
    def fit(cls, design: Design, labels: Guess) -> "StraightLine":
        """`design` and `labels` are those of the known rows."""
        center, level = design.mean(1, keepdim=True), labels.mean(1, keepdim=True)
        x, y = design - center, labels - level
        with torch.autocast(x.device.type, enabled=False):
            square, met = x.transpose(1, 2) @ x, x.transpose(1, 2) @ y
            found = [_solve(x, y, square, met, penalty) for penalty in PENALTIES]
        slope, own = _best(found, y)
        return cls(slope, center, level, own + level)

    def guess(self, design: Design) -> Guess:
        # In 64 bits, so that what is said of a row does not depend on the rows beside it, not even in the last digit.
        with torch.autocast(design.device.type, enabled=False):
            return ((design - self.center).double() @ self.slope.double() + self.level).to(design.dtype)


def _solve(x: Design, y: Tensor, square: Tensor, met: Tensor, penalty: float) -> tuple[Tensor, Tensor]:
    """Slopes, and the guess of every row by the others."""
    root = root_of(square + penalty * torch.eye(x.shape[2], device=x.device))
    slope = torch.cholesky_solve(met, root)
    turned = torch.linalg.solve_triangular(root, x.transpose(1, 2), upper=False)
    weight = turned.square().sum(1) + 1 / x.shape[1]  # of a row in what is said of itself
    return slope, y - (y - x @ slope) / (1 - weight).clamp(min=LEAST)[..., None]


def root_of(square: Float[Tensor, "table side side"]) -> Float[Tensor, "table side side"]:
    """Its Cholesky root; nothing but NaN where rounding has left none, so that this solution is not chosen."""
    root, failed = torch.linalg.cholesky_ex(square)
    return root.masked_fill((failed > 0)[:, None, None], torch.nan)


def _best(found: Sequence[tuple[Tensor, Tensor]], y: Tensor) -> tuple[Tensor, Tensor]:
    """Of each label the solution whose guesses of rows that were left out err least."""
    errors = torch.stack([(y - own).square().mean(1, keepdim=True) for _, own in found])
    best = errors.nan_to_num(torch.inf).argmin(0, keepdim=True)
    slopes, owns = (torch.stack(parts) for parts in zip(*found, strict=True))
    slope, own = (each.gather(0, best.expand(1, *each.shape[1:]))[0] for each in (slopes, owns))
    return slope, own
