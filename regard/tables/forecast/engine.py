"""Forecasts of all series together: simple methods for each, one network for all, weighted by past windows.

The last windows of every series, each as long as the horizon, are held out and forecast from what was known before.
They decide the share of the network and the width of the intervals, and are the back-test that is reported.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from regard.core.machine import seed_for
from regard.tables.forecast.candidates import Candidates, forecast_candidates, outcomes
from regard.tables.forecast.network import LEVELS, MEDIAN, predict_errors
from regard.tables.forecast.quantiles import Mix, fit_mix, past_quantiles
from regard.tables.forecast.rows import Rows, SeriesRows, sample_rows
from regard.tables.forecast.series import Series

MAX_POINTS = 1500  # of a series: older values say little, and take time
MAX_CONTEXT = 4096  # rows of all series
MAX_CONTEXT_OF_ONE = 512
WINDOWS = 3  # that are held out
MIN_PAST = 8  # values before the first origin


@dataclass(frozen=True)
class Prepared:
    """A series with its candidates from every origin."""

    series: Series
    values: Float[np.ndarray, " time"]  # the last ones, ordinary ones in place of those of holidays
    skipped: int  # values before them
    horizon: int

    @cached_property
    def candidates(self) -> Candidates:
        return forecast_candidates(self.values, self.series.periods, self.horizon)

    @cached_property
    def table(self) -> SeriesRows:
        places = self.series.first + self.skipped + np.arange(len(self.values) + self.horizon)
        calendar = self.series.frequency.calendar(places, self.series.periods[0])
        return SeriesRows(self.values, self.candidates, self.series.periods, calendar)

    @property
    def last(self) -> int:
        return len(self.values) - 1

    @property
    def first(self) -> int:
        """The first origin with enough past."""
        return min(max(2 * self.series.periods[0], MIN_PAST), self.last)

    @property
    def actual(self) -> Float[np.ndarray, " time"]:
        """The values as they were, on holidays too."""
        return self.series.values[self.skipped :]

    def outcome(self, origin: int) -> Float[np.ndarray, " step"]:
        """What followed an origin; NaN where it is missing or still to come."""
        return outcomes(self.actual, self.horizon)[origin]

    def origins(self) -> list[int]:
        """Where held-out windows begin, the latest one last."""
        count = min(WINDOWS, (self.last - self.first) // self.horizon)
        return [self.last - self.horizon * back for back in range(count, 0, -1)]


@dataclass(frozen=True)
class Window:
    """Forecasts of one series from one origin."""

    of: Prepared
    origin: int
    quantiles: Float[np.ndarray, "step level"]

    @property
    def median(self) -> Float[np.ndarray, " step"]:
        return self.quantiles[:, MEDIAN]


@dataclass(frozen=True)
class Forecasts:
    ahead: list[Window]  # of each series, from its end
    held_out: list[Window]
    mix: Mix
    uses_network: bool


def prepare(series: Series, horizon: int) -> Prepared:
    skipped = max(0, len(series.values) - max(MAX_POINTS, 3 * max(series.periods)))
    return Prepared(series, series.ordinary[skipped:], skipped, horizon)


def forecast_series(series: Sequence[Series], horizon: int, weights: str | Path | None, seed: int = 0) -> Forecasts:
    """Forecast every series from its end, and from the origins of its held-out windows."""
    all_series = [prepare(one, horizon) for one in series]
    windows = [(one, origin) for one in all_series for origin in one.origins()]
    held_out = _Query(windows)
    network = None
    if windows:
        ends = {id(one): min([one.last, *one.origins()]) for one in all_series}
        network = predict_errors(_context(all_series, ends, seed), held_out.cells, weights, seed)
    numbers = held_out.numbers
    ahead = _Query([(one, one.last) for one in all_series])
    mix = fit_mix(held_out.past, network, held_out.outcome, len(windows)) if windows else Mix()
    ends = {id(one): one.last for one in all_series}
    final = predict_errors(_context(all_series, ends, seed), ahead.cells, weights, seed) if mix.share else None
    tested = np.empty_like(held_out.past)
    for number in np.unique(numbers):  # a window is scored with the mix of the others
        inside = numbers == number
        rest = fit_mix(*held_out.take(~inside, network), max(1, len(np.unique(numbers)) - 1) * len(all_series))
        part = None if network is None else network[inside]
        tested[inside] = rest.apply(held_out.past[inside], part)
    return Forecasts(ahead.windows(mix.apply(ahead.past, final)), held_out.windows(tested), mix, final is not None)


def _context(all_series: Sequence[Prepared], ends: dict[int, int], seed: int) -> Rows:
    """Rows of past origins, of outcomes up to the end of each series; of many series fewer each."""
    share = max(8, min(MAX_CONTEXT_OF_ONE, MAX_CONTEXT // len(all_series)))
    parts = []
    for number, one in enumerate(all_series):
        end = ends[id(one)]
        origins = np.arange(one.first, end)
        sample = sample_rows(origins, end, one.horizon, share, seed_for("forecast", seed, number))
        parts.append(one.table.rows(*sample))
    rows = join(parts)
    some = np.arange(len(rows.target))
    if len(some) > MAX_CONTEXT:
        some = np.sort(np.random.default_rng(seed).choice(some, MAX_CONTEXT, replace=False))
    return Rows(rows.cells[some], rows.target[some], rows.scale[some])


def join(parts: Sequence[Rows]) -> Rows:
    return Rows(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("cells", "target", "scale")))


class _Query:
    """All steps ahead of some origins."""

    def __init__(self, windows: Sequence[tuple[Prepared, int]]):
        self.origins = windows
        if not windows:
            return
        steps = np.arange(1, windows[0][0].horizon + 1)
        rows = join([one.table.rows(np.full(len(steps), origin), steps) for one, origin in windows])
        self.cells, self.outcome, self.scale = rows.cells, rows.target, rows.scale
        self.past = np.repeat(
            [past_quantiles(one.candidates, origin, one.first) for one, origin in windows], len(steps), 0
        )
        self.numbers = np.repeat([_number(one, origin) for one, origin in windows], len(steps))

    cells: Float[np.ndarray, "row column"] = np.zeros((0, 0))
    outcome: Float[np.ndarray, " row"] = np.zeros(0)
    scale: Float[np.ndarray, " row"] = np.zeros(0)
    past: Float[np.ndarray, "row level"] = np.zeros((0, len(LEVELS)))
    numbers: Int[np.ndarray, " row"] = np.zeros(0, dtype=int)

    def take(self, rows: np.ndarray, network: np.ndarray | None) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
        return self.past[rows], None if network is None else network[rows], self.outcome[rows]

    def windows(self, errors: Float[np.ndarray, "row level"]) -> list[Window]:
        """Forecasts from quantiles of errors, in the unit of the series."""
        result = []
        for number, (one, origin) in enumerate(self.origins):
            rows = slice(number * one.horizon, (number + 1) * one.horizon)
            base = one.candidates.base[origin][:, None]
            quantiles = np.sort(base + self.scale[rows, None] * errors[rows], 1)
            if one.series.holidays is not None:
                quantiles = one.series.holidays.apply(quantiles, one.skipped + origin)
            low = 0.0 if np.nanmin(one.values) >= 0 else -np.inf  # what was never negative is taken not to be
            result.append(Window(one, origin, np.maximum(quantiles, low)))
        return result


def _number(one: Prepared, origin: int) -> int:
    """Of a window, counted from the end."""
    return (one.last - origin) // one.horizon
