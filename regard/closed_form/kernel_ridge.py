"""Leave-one-out kernel ridge regression with a learned distance (Saunders et al., 1998).

Attention whose keys are the rows themselves: a row counts the more the nearer it is. The dual coefficients fit all
context rows at once in closed form, and so do the leave-one-out predictions. The weight of each feature in the distance
is the average gradient of a first fit with respect to it (recursive feature machines, Radhakrishnan et al., 2024). The
kernel, its bandwidth and the ridge penalty are those with the least leave-one-out error.

Rows that are copies of each other enter once, with their number as weight: a row counts as often as it is there if the
penalty on the diagonal is divided by that number. So all copies are left out together.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import product

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.closed_form.column_statistics import CellFeatures, ColumnStatistics, Values
from regard.closed_form.copies import Copies
from regard.closed_form.kernels import KERNELS, Kernel, Laplace, distances, kernel_matrix
from regard.closed_form.ridge import Features, Targets, cholesky

BANDWIDTHS = (0.5, 1.5, 4.0)  # in median distances between rows
PENALTIES = (0.001, 0.03, 0.3, 2.0)  # ridge penalty, in pseudo-observations; the least for targets without noise
FIRST_BANDWIDTH, FIRST_PENALTY = 1.0, 0.03  # of the fits whose gradients are averaged
ROUNDS = 4  # of those fits
WEIGHT_ROWS = 1024  # rows from which feature weights are learned
SEARCH_ROWS = 256  # rows of the search over kernel, weights, bandwidth and penalty
SECOND_SEARCH_ROWS = 1024  # at most half of all rows; the best bandwidth shrinks as rows grow
GRADIENT_ROWS = 64  # rows at which gradients are evaluated
MAX_LABELS = 8  # most frequent labels whose gradients are averaged
MIN_WEIGHT = 0.01  # of a feature, relative to the largest
BITS = 4  # code length of a category
RANK_SCALE = 12**0.5  # brings uniform ranks to standard deviation 1

Counts = Float[Tensor, "one row"]  # copies of each row, the same in all tables


def kernel_features(
    values: Values,
    cells: CellFeatures,
    target_statistics: Float[Tensor, "table row column few"],
    columns: ColumnStatistics,
) -> Features:
    """What distances are measured in: the mean of value and rank, missing indicators, codes and target statistics."""
    number = (cells[..., 0] + RANK_SCALE * cells[..., 1]) / 2
    missing = values.isnan()
    numeric = columns.numeric
    is_code = (columns.category & ~numeric)[:, None] & ~missing
    code = _category_codes(values.device)[(values.nan_to_num(0.0).long() % 2**BITS)] * is_code[..., None]
    means = target_statistics.where(~numeric[:, None, :, None], 0.0)
    return torch.cat([number.where(numeric[:, None], 0.0), missing.float(), code.flatten(2), means.flatten(2)], -1)


def _category_codes(device: torch.device) -> Float[Tensor, "category bit"]:
    """A binary code for each category; the first `BITS` ones are one-hot, so that they are equally far apart."""
    codes = ([number >> bit & 1 for bit in range(BITS)] for number in range(2**BITS))
    return torch.tensor(
        sorted(codes, key=lambda bits: (sum(bits) - 1) % (BITS + 1)), dtype=torch.float32, device=device
    )


@dataclass(frozen=True)
class KernelRidge:
    kernels: Sequence[Kernel]  # of each table
    active: Int[Tensor, " active"]  # features that vary
    scale: Float[Tensor, "table one active"]  # weight of each, divided by the bandwidth
    support: Float[Tensor, "table support active"]  # rows of the kernel expansion, scaled
    penalty: Float[Tensor, "table one one"]
    dual_coef: Float[Tensor, "table support label"]
    intercept: Float[Tensor, "table one label"]
    leave_one_out: Targets  # predictions for the context rows
    copies: Copies | None = field(default=None, kw_only=True)  # of the context rows; the support has each once

    @classmethod
    def fit(cls, features: Features, labels: Targets, copies: Copies | None = None) -> "KernelRidge":
        """Fit to the context rows."""
        intercept = labels.mean(1, keepdim=True)
        features, y, counts = once(features, labels - intercept, copies)
        with torch.autocast(features.device.type, enabled=False):
            kernels, active, scale, penalty = select_kernel(features, y, counts)
            support = features[..., active] * scale
            dual_coef, leave_one_out = _solve(kernel_matrix(kernels, support, support), y, penalty, counts)
        leave_one_out = for_all(leave_one_out, copies) + intercept
        return cls(kernels, active, scale, support, penalty, dual_coef, intercept, leave_one_out, copies=copies)

    def kernel(self, features: Features) -> Float[Tensor, "table row support"]:
        return kernel_matrix(self.kernels, features[..., self.active] * self.scale, self.support)

    def predict(self, features: Features) -> Targets:
        # In float64, so that the prediction of a row does not depend, even in its last digit, on the rows beside it.
        with torch.autocast(features.device.type, enabled=False):
            kernel = self.kernel(features)
            return (kernel.double() @ self.dual_coef.double() + self.intercept).to(features.dtype)

    def label_weights(self, features: Features) -> Float[Tensor, "table row context"]:
        """The absolute weight of each context row's label in the prediction, normalised to sum 1.

        Computed on demand: it takes a matrix of the square of the rows.
        """
        counts = None if self.copies is None else self.copies.counts[None]
        root = _regularised_root(kernel_matrix(self.kernels, self.support, self.support), self.penalty, counts)
        weights = torch.cholesky_solve(self.kernel(features).transpose(1, 2), root)
        shared = weights if counts is None else weights / counts[..., None]  # each copy has its part
        return normalised(for_all(shared, self.copies).transpose(1, 2))


def once(
    features: Features, y: Targets, copies: Copies | None
) -> tuple[
    Float[Tensor, "table distinct feature"], Float[Tensor, "table distinct label"], Float[Tensor, "one distinct"] | None
]:
    """One of the copies of each row, and how many there are."""
    if copies is None:
        return features, y, None
    return copies.distinct(features), copies.distinct(y), copies.counts[None].to(features.dtype)


def for_all(distinct: Tensor, copies: Copies | None) -> Tensor:
    """The values of distinct rows, for all of their copies."""
    return distinct if copies is None else distinct[:, copies.group]


def select_kernel(
    features: Features, y: Tensor, counts: Counts | None = None
) -> tuple[Sequence[Kernel], Int[Tensor, " active"], Tensor, Tensor]:
    """The kernels, the features that vary, their scale (weight over bandwidth), and the penalty."""
    counts = features.new_ones(1, features.shape[1]) if counts is None else counts
    varies = (features != features[:, :1]).any(1, keepdim=True)
    active = varies.any(0)[0].nonzero()[:, 0]
    active = active if len(active) else torch.arange(1, device=features.device)
    features = features[..., active]
    learned = _feature_weights(*(subsample(WEIGHT_ROWS, each) for each in (features, y, counts)))
    uniform = varies[..., active].float()  # features that vary in this table; others may do so in another one
    candidates = [([kernel] * len(y), weight) for kernel in KERNELS for weight in (uniform, uniform * learned)]
    selected = _search(candidates, *(subsample(SEARCH_ROWS, each) for each in (features, y, counts)))
    more = min(SECOND_SEARCH_ROWS, features.shape[1] // 2)
    if more > SEARCH_ROWS:
        selected = _search([selected[:2]], *(subsample(more, each) for each in (features, y, counts)))
    kernels, scale, penalty = selected
    return kernels, active, scale, penalty


def normalised(weights: Float[Tensor, "table row context"]) -> Float[Tensor, "table row context"]:
    """Absolute weights that sum to 1."""
    weights = weights.abs()
    return weights / weights.sum(-1, keepdim=True).clamp(min=1e-12)


def subsample(most: int, rows: Tensor) -> Tensor:
    """At most so many rows, drawn at random, as rows may be sorted; the same ones for the same number of rows."""
    count = rows.shape[1]
    if count <= most:
        return rows
    return rows[:, torch.randperm(count, generator=torch.Generator().manual_seed(0))[:most].to(rows.device)]


def _median_distance(kernels: Sequence[Kernel], rows: Features) -> Float[Tensor, "table one one"]:
    between = distances(kernels, subsample(64, rows), rows)
    return between.flatten(1).median(1).values.clamp(min=1e-6)[:, None, None]


def _solve(
    kernel: Tensor, y: Tensor, penalty: Float[Tensor, "table one one"], counts: Counts | None = None
) -> tuple[Tensor, Targets]:
    """Dual coefficients and leave-one-out predictions."""
    inverse = torch.cholesky_inverse(_regularised_root(kernel, penalty, counts))
    dual_coef = inverse @ y
    return dual_coef, y - dual_coef / inverse.diagonal(dim1=1, dim2=2)[..., None].clamp(min=1e-6)


def _regularised_root(
    kernel: Float[Tensor, "table row row"], penalty: Float[Tensor, "table one one"], counts: Counts | None = None
) -> Tensor:
    one = torch.eye(kernel.shape[1], device=kernel.device)
    return cholesky(kernel + penalty * (one if counts is None else one / counts[0]))


def _feature_weights(features: Features, y: Tensor, counts: Counts | None = None) -> Float[Tensor, "table one feature"]:
    """The root mean square gradient of a fit with respect to each feature, relative to the largest."""
    frequent = y.square().sum(1).argsort(descending=True)[:, None, :MAX_LABELS]
    y = y.gather(2, frequent.expand(-1, y.shape[1], -1))
    weight = torch.ones_like(features[:, :1])
    penalty = torch.full_like(y[:, :1, :1], FIRST_PENALTY)
    kernels = [Laplace()] * len(y)  # its gradient is a sum of signs
    for _ in range(ROUNDS):
        rows = features * (weight / (FIRST_BANDWIDTH * _median_distance(kernels, features * weight)))
        kernel = kernel_matrix(kernels, rows, rows)
        dual_coef, _ = _solve(kernel, y, penalty, counts)
        sign = (subsample(GRADIENT_ROWS, rows)[:, :, None] - rows[:, None]).sign()
        gradient = (subsample(GRADIENT_ROWS, kernel)[:, :, None] * dual_coef.transpose(1, 2)[:, None]) @ sign
        size = weight * gradient.square().mean((1, 2))[:, None].sqrt()
        weight = (size / size.amax(2, keepdim=True).clamp(min=1e-12)).clamp(min=MIN_WEIGHT)
    return weight


def _search(
    candidates: Iterable[tuple[Sequence[Kernel], Tensor]], features: Features, y: Tensor, counts: Counts
) -> tuple[Sequence[Kernel], Tensor, Tensor]:
    """The kernel, the scale and the penalty with the least leave-one-out error, for each table."""
    tried, used = [], []
    for (kernels, weight), bandwidth in product(candidates, BANDWIDTHS):
        scale = weight / (bandwidth * _median_distance(kernels, features * weight))
        matrix = kernel_matrix(kernels, features * scale, features * scale)
        for value in PENALTIES:
            penalty = torch.full_like(y[:, :1, :1], value)
            error = ((y - _solve(matrix, y, penalty, counts)[1]).square() * counts[..., None]).mean((1, 2))
            tried.append((error.nan_to_num(torch.inf), scale, penalty))
            used.append(kernels)
    errors, scales, penalties = (torch.stack(parts) for parts in zip(*tried, strict=True))
    best, tables = errors.argmin(0), torch.arange(len(y), device=y.device)
    kernels = [used[place][table] for table, place in enumerate(best.tolist())]
    return kernels, scales[best, tables], penalties[best, tables]
