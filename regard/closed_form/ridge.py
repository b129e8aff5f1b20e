"""Leave-one-out ridge regression in closed form, a feature of the in-context model (Hoerl & Kennard, 1970).

Much of a real table is nearly additive over columns, and a small network needs long to learn exact addition. Ridge
regression has a closed form, and so have its leave-one-out predictions: no context row sees its own label. Numeric
columns enter as standardised value and rank, categories by target encoding.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from regard.closed_form.column_statistics import CellFeatures

PENALTIES = (0.1, 1.0, 10.0, 100.0)  # ridge penalty, in pseudo-observations; chosen by leave-one-out error
MIN_RESIDUAL = 0.02  # least 1 - leverage: a row that alone determines its own prediction would divide by zero

Features = Float[Tensor, "table row feature"]
Targets = Float[Tensor, "table row label"]


def ridge_features(
    cells: CellFeatures,
    target_statistics: Float[Tensor, "table row column few"],
    numeric: Bool[Tensor, "table column"],
) -> Features:
    """The design matrix: value and rank of numeric columns, target statistics of the others."""
    numeric = numeric[:, None, :, None]
    return torch.cat([cells[..., :2].where(numeric, 0.0), target_statistics.where(~numeric, 0.0)], -1).flatten(2)


@dataclass(frozen=True)
class Ridge:
    """One linear model for each label of each table."""

    coef: Float[Tensor, "table feature label"]
    center: Float[Tensor, "table one feature"]
    intercept: Float[Tensor, "table one label"]
    leave_one_out: Targets  # predictions for the context rows

    @classmethod
    def fit(cls, features: Features, labels: Targets, copies: Float[Tensor, " row"] | None = None) -> "Ridge":
        """Fit to the context rows; `copies` says how many of them are the same row, which is left out with all."""
        center, intercept = features.mean(1, keepdim=True), labels.mean(1, keepdim=True)
        x, y = features - center, labels - intercept
        with torch.autocast(x.device.type, enabled=False):
            gram, moment = x.transpose(1, 2) @ x, x.transpose(1, 2) @ y
            times = x.new_ones(1) if copies is None else copies
            solutions = [_solve(x, y, gram, moment, penalty, times) for penalty in PENALTIES]
        coef, leave_one_out = _best(solutions, y)
        return cls(coef, center, intercept, leave_one_out + intercept)

    def predict(self, features: Features) -> Targets:
        # In float64, so that the prediction of a row does not depend, even in its last digit, on the rows beside it.
        with torch.autocast(features.device.type, enabled=False):
            return ((features - self.center).double() @ self.coef.double() + self.intercept).to(features.dtype)


def _solve(
    x: Features, y: Tensor, gram: Tensor, moment: Tensor, penalty: float, copies: Tensor
) -> tuple[Tensor, Tensor]:
    """Coefficients and leave-one-out predictions."""
    root = cholesky(gram + penalty * torch.eye(x.shape[2], device=x.device))
    coef = torch.cholesky_solve(moment, root)
    whitened = torch.linalg.solve_triangular(root, x.transpose(1, 2), upper=False)
    leverage = whitened.square().sum(1) + 1 / x.shape[1]
    return coef, y - (y - x @ coef) / (1 - copies * leverage).clamp(min=MIN_RESIDUAL)[..., None]


def cholesky(matrix: Float[Tensor, "table side side"]) -> Float[Tensor, "table side side"]:
    """The Cholesky factor; NaN where rounding made the matrix indefinite, so that this solution is not chosen."""
    root, failed = torch.linalg.cholesky_ex(matrix)
    return root.masked_fill((failed > 0)[:, None, None], torch.nan)


def _best(solutions: Sequence[tuple[Tensor, Tensor]], y: Tensor) -> tuple[Tensor, Tensor]:
    """For each label the solution with the least leave-one-out error."""
    errors = torch.stack([(y - predicted).square().mean(1, keepdim=True) for _, predicted in solutions])
    best = errors.nan_to_num(torch.inf).argmin(0, keepdim=True)
    stacked = (torch.stack(parts) for parts in zip(*solutions, strict=True))
    coef, leave_one_out = (each.gather(0, best.expand(1, *each.shape[1:]))[0] for each in stacked)
    return coef, leave_one_out
