"""Which columns of new rows differ from the training rows by themselves, and how.

Numbers are compared by the Kolmogorov–Smirnov distance, categories by Cramér's V without its bias (Bergsma, 2013), and
both by the fraction of missing cells. Distances lie between 0 and 1; those that chance explains are left out.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from torch import Tensor

from regard.tables.encode.column import Column
from regard.tables.encode.columns import Columns
from regard.tables.plain_numbers import plain_number

CHANCE = 1.95  # of the KS distance, in units of its scale: exceeded by chance once in a thousand times
MIN_DISTANCE = 0.1  # a smaller one is of no use to know
SIGNIFICANT = 3.1  # normal deviate of a chi-square: exceeded by chance once in a thousand times
RARE = 10  # rows of a category, of both sides together
SHIFT = 0.25  # standard deviations: a smaller change of the mean is not the news

Old = Float[np.ndarray, " old"]  # cells of one column
New = Float[np.ndarray, " new"]


@dataclass(frozen=True)
class ColumnDrift:
    """The difference of one column between training and new rows."""

    name: str
    distance: float  # 0: none; 1: nothing in common
    change: str  # from training to new rows, in words


def column_drift(
    columns: Columns, values: Float[Tensor, "row cell"], new: Bool[np.ndarray, " row"]
) -> tuple[ColumnDrift, ...]:
    """The columns that differ, the largest distance first; `values` are encoded by these columns."""
    different = []
    least = max(MIN_DISTANCE, CHANCE * math.sqrt(len(new) / (int(new.sum()) * int((~new).sum()))))
    for column, places in zip(columns.columns, columns.positions(), strict=True):
        cells = values[:, places].numpy()
        distance, change = max(_differences(column, cells[~new], cells[new]))
        if distance >= least:
            different.append(ColumnDrift(column.name, distance, change))
    return tuple(sorted(different, key=lambda one: -one.distance))


def _differences(column: Column, old: np.ndarray, new: np.ndarray) -> Iterator[tuple[float, str]]:
    missing = [float(np.isnan(side[:, 0]).mean()) for side in (old, new)]
    yield abs(missing[1] - missing[0]), f"missing {missing[0]:.0%} → {missing[1]:.0%}"
    old, new = (side[~np.isnan(side[:, 0])] for side in (old, new))
    if not len(old) or not len(new):
        return
    if column.kind == "number":
        yield kolmogorov_smirnov(old[:, 0], new[:, 0]), _moments(old[:, 0], new[:, 0])
    elif column.kind == "category":
        yield _cramers_v(old[:, 0], new[:, 0]), _share(column, old[:, 0], new[:, 0])
    else:
        lengths = [np.array([len(str(text)) for text in column.decode(side)], dtype=float) for side in (old, new)]
        yield kolmogorov_smirnov(*lengths), f"mean length {lengths[0].mean():.0f} → {lengths[1].mean():.0f} characters"
        for part in range(1, old.shape[1]):
            yield kolmogorov_smirnov(old[:, part], new[:, part]), "other words"


def kolmogorov_smirnov(old: Old, new: New) -> float:
    """The largest distance between the two distribution functions."""
    every = np.concatenate([old, new])
    one, other = (np.searchsorted(np.sort(side), every, side="right") / len(side) for side in (old, new))
    return float(np.abs(one - other).max())


def _moments(old: Old, new: New) -> str:
    means, stds = [float(side.mean()) for side in (old, new)], [float(side.std()) for side in (old, new)]
    if abs(means[1] - means[0]) >= SHIFT * max(stds):
        return f"mean {plain_number(means[0], 3)} → {plain_number(means[1], 3)}"
    return f"standard deviation {plain_number(stds[0], 3)} → {plain_number(stds[1], 3)}"


def _cramers_v(old: Old, new: New) -> float:
    """0 if chance explains the difference. Rare categories count as one: of few rows no fraction is known."""
    codes, place, counts = np.unique(np.concatenate([old, new]), return_inverse=True, return_counts=True)
    place = np.unique(np.where(counts < RARE, -1, np.arange(len(codes)))[place], return_inverse=True)[1]
    seen = np.stack([np.bincount(part, minlength=place.max() + 1) for part in np.split(place, [len(old)])])
    total, levels = len(place), seen.shape[1]
    expected = seen.sum(1, keepdims=True) * seen.sum(0) / total
    chi_square, freedom = float(((seen - expected) ** 2 / expected).sum()), levels - 1
    if not freedom or _normal_score(chi_square, freedom) < SIGNIFICANT:
        return 0.0
    unbiased = max(0.0, chi_square / total - freedom / (total - 1))
    return math.sqrt(min(1.0, unbiased / (1 - 1 / (total - 1))))


def _normal_score(chi_square: float, freedom: int) -> float:
    """The normal deviate with nearly the same probability (Wilson & Hilferty, 1931)."""
    spread = 2 / (9 * freedom)
    return ((chi_square / freedom) ** (1 / 3) - (1 - spread)) / math.sqrt(spread)


def _share(column: Column, old: Old, new: New) -> str:
    """The category whose fraction changed most."""
    codes = np.unique(np.concatenate([old, new]))
    changes = {code: (float((old == code).mean()), float((new == code).mean())) for code in codes.tolist()}
    code = max(changes, key=lambda one: abs(changes[one][1] - changes[one][0]))
    before, after = changes[code]
    return f"{str(column.labels[code])[:30]!r} {before:.0%} → {after:.0%}"
