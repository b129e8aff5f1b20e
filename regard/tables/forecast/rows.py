"""Forecasting as a table (TabPFN-TS, Hoo et al., 2025): a row is a step ahead of an origin, with what was known there.

The target is the error that the average of simple methods made, in units of its usual error. Rows of past origins are
context; the steps ahead of the last origin are query rows. The network was pre-trained on tables and cannot extrapolate
a trend; the simple methods do that. Relative to their scale, rows of all series are alike.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from regard.tables.forecast.autoregression import fill_gaps
from regard.tables.forecast.candidates import Candidates, discount

MAX_ERROR = 8.0  # usual errors: a larger one says no more
RECENT = 0.8  # weight of a signed error for each step that it is older


@dataclass(frozen=True)
class Rows:
    """Features of steps ahead of origins."""

    cells: Float[np.ndarray, "row column"]
    target: Float[np.ndarray, " row"]  # NaN where it is unknown
    scale: Float[np.ndarray, " row"]


class SeriesRows:
    """What rows of one series are made of, computed once for all origins."""

    def __init__(
        self,
        values: Float[np.ndarray, " time"],
        candidates: Candidates,
        periods: tuple[int, ...],
        calendar: Float[np.ndarray, "target part"],
    ):
        """`calendar` holds features of the time of every value and, after them, of the horizon."""
        self.values, self.candidates, self.periods, self.calendar = fill_gaps(values), candidates, periods, calendar
        count = len(values)
        self.one_step = np.concatenate([[0.0], np.nan_to_num(candidates.errors[:-1, 0])])  # by the time of the outcome
        mean = discount(self.one_step[None], RECENT)[0] * (1 - RECENT)
        self.bias = mean
        total = np.concatenate([[0.0], np.cumsum(self.values)])
        size = max(periods[0], 4)
        ends = np.arange(1, count + 1)
        start = np.maximum(ends - size, 0)
        self.mean = (total[ends] - total[start]) / (ends - start)
        before = np.maximum(ends - size, 1)
        before_start = np.maximum(before - size, 0)
        self.mean_before = (total[before] - total[before_start]) / (before - before_start)

    def rows(self, origins: Int[np.ndarray, " row"], steps: Int[np.ndarray, " row"]) -> Rows:
        """Steps count from 1."""
        candidates, values = self.candidates, self.values
        place = (origins, steps - 1)
        scale, base = candidates.scale[place], candidates.base[place]
        unit = candidates.scale[origins, 0]
        columns = [steps, np.sqrt(steps)]
        columns += [(each[place] - base) / scale for each in self._groups()]
        columns += [(values[origins] - values[np.maximum(origins - back, 0)]) / unit for back in (1, 2, 3, 5)]
        columns += [self.bias[origins] / unit, (values[origins] - self.mean[origins]) / unit]
        columns += [(self.mean[origins] - self.mean_before[origins]) / unit]
        columns += [(base - values[origins]) / scale]
        for period in (self.periods[0], self.periods[-1]):
            back = origins + steps - period * -(-steps // period)
            columns += [np.where(back > 0, self.one_step[np.maximum(back, 0)], np.nan) / unit]
        columns += list(self.calendar[origins + steps].T)
        cells = np.stack(columns, 1)
        target = np.clip(candidates.errors[place] / scale, -MAX_ERROR, MAX_ERROR)
        return Rows(np.clip(cells, -1e4, 1e4), target, scale)

    def _groups(self) -> list[Float[np.ndarray, "time step"]]:
        """Methods of one kind averaged: their raw and logarithmic forms hardly differ."""
        names = self.candidates.names
        kinds: list[Sequence[int]] = [
            [place for place, name in enumerate(names) if name.startswith(start)]
            for start in (
                "seasonal naive",
                "shifted",
                "level",
                "damped trend of level",
                "theta",
                "damped trend of seasonal",
                "autoregression",
            )
        ]
        return [
            self.candidates.forecasts[some].mean(0) if some else np.full_like(self.candidates.base, np.nan)
            for some in kinds
        ]


def sample_rows(
    origins: Int[np.ndarray, " origin"], last: int, horizon: int, count: int, seed: int
) -> tuple[Int[np.ndarray, " row"], Int[np.ndarray, " row"]]:
    """Origins and steps whose outcome is not after `last`, drawn at random if there are more than `count`."""
    steps = np.arange(1, horizon + 1)
    origin, step = (each.reshape(-1) for each in np.meshgrid(origins, steps, indexing="ij"))
    known = np.flatnonzero(origin + step <= last)
    if len(known) > count:
        known = np.sort(np.random.default_rng(seed).choice(known, count, replace=False))
    return origin[known], step[known]
