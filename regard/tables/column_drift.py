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

CHANCE = 1.95  # of the KS distance, in units of its scale: exceeded by chance once in a thousand times
MIN_DISTANCE = 0.1  # a smaller one is of no use to know
SHIFT = 0.25  # standard deviations: a smaller change of the mean is not the news

Cells = Float[np.ndarray, " row"]


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
    found = []
    least = max(MIN_DISTANCE, CHANCE * math.sqrt(len(new) / (int(new.sum()) * int((~new).sum()))))
    for column, places in zip(columns.columns, columns.positions(), strict=True):
        cells = values[:, places].numpy()
        distance, change = max(_differences(column, cells[~new], cells[new]))
        if distance >= least:
            found.append(ColumnDrift(column.name, distance, change))
    return tuple(sorted(found, key=lambda one: -one.distance))


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


def kolmogorov_smirnov(old: Cells, new: Cells) -> float:
    """The largest distance between the two distribution functions."""
    every = np.concatenate([old, new])
    one, other = (np.searchsorted(np.sort(side), every, side="right") / len(side) for side in (old, new))
    return float(np.abs(one - other).max())


def _moments(old: Cells, new: Cells) -> str:
    means, stds = [side.mean() for side in (old, new)], [side.std() for side in (old, new)]
    if abs(means[1] - means[0]) >= SHIFT * max(stds):
        return f"mean {means[0]:.3g} → {means[1]:.3g}"
    return f"standard deviation {stds[0]:.3g} → {stds[1]:.3g}"


def _cramers_v(old: Cells, new: Cells) -> float:
    codes, counts = np.unique(np.concatenate([old, new]), return_counts=True)
    total, sizes = len(old) + len(new), np.array([len(old), len(new)])
    seen = np.stack(
        [
            (np.searchsorted(np.sort(side), codes, "right") - np.searchsorted(np.sort(side), codes))
            for side in (old, new)
        ]
    )
    expected = sizes[:, None] * counts / total
    phi = float(((seen - expected) ** 2 / expected).sum()) / total
    freedom = len(codes) - 1
    unbiased = max(0.0, phi - freedom / (total - 1))
    levels = len(codes) - freedom**2 / (total - 1)
    smaller = min(levels, 2 - 1 / (total - 1)) - 1
    return math.sqrt(min(1.0, unbiased / smaller)) if smaller > 0 else 0.0


def _share(column: Column, old: Cells, new: Cells) -> str:
    """The category whose fraction changed most."""
    codes = np.unique(np.concatenate([old, new]))
    changes = {code: (float((old == code).mean()), float((new == code).mean())) for code in codes.tolist()}
    code = max(changes, key=lambda one: abs(changes[one][1] - changes[one][0]))
    before, after = changes[code]
    return f"{str(column.labels[code])[:30]!r} {before:.0%} → {after:.0%}"
