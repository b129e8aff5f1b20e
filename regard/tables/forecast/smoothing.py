"""Exponential smoothing of one series by many parameters at once (Holt, 1957; Winters, 1960; Gardner & McKenzie, 1985).

A level, a damped trend and a season follow the values, each by a rate of its own. No rate is searched for: a grid of
them runs side by side, and at every time the members of a family are averaged by how well they have predicted the next
value so far. Forecasts from every past origin therefore come from one pass, and use nothing that was unknown there.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np
from jaxtyping import Float, Int

LEVEL_RATES = (0.03, 0.1, 0.2, 0.35, 0.5, 0.7, 0.85, 1.0)
TREND_RATES = (0.02, 0.08, 0.25)  # of the level's
DAMPING = (0.8, 0.92, 0.99)  # factor of the trend at each step
SEASON_RATES = (0.03, 0.12, 0.3)
MEMORY = 0.995  # weight of an error for each step that it is older
PRIOR_STEPS = 2.0  # errors that every member begins with, so that the first few decide nothing


@dataclass(frozen=True)
class Grid:
    """Parameters that run side by side."""

    level: Float[np.ndarray, " member"]
    trend: Float[np.ndarray, " member"]
    damping: Float[np.ndarray, " member"]
    season: Float[np.ndarray, " member"]
    family: Int[np.ndarray, " member"]  # 0: level, 1: damped trend, 2: level and season, 3: all three

    @classmethod
    def build(cls, seasonal: bool) -> "Grid":
        rows = [(level, 0.0, 0.0, 0.0, 0) for level in LEVEL_RATES]
        rows += [(*each, 0.0, 1) for each in product(LEVEL_RATES, TREND_RATES, DAMPING)]
        if seasonal:
            some = LEVEL_RATES[::2]
            rows += [(level, 0.0, 0.0, rate, 2) for level, rate in product(LEVEL_RATES, SEASON_RATES)]
            rows += [(*each, 3) for each in product(some, TREND_RATES[::2], DAMPING[1:], SEASON_RATES)]
        level, trend, damping, season, family = np.array(rows).T
        return cls(level, trend, damping, season, family.astype(int))


@dataclass(frozen=True)
class Smoothed:
    """The averaged state of each family after each time."""

    level: Float[np.ndarray, "time family"]
    trend: Float[np.ndarray, "time family damping"]
    season: Float[np.ndarray, "time family phase"]

    def forecast(self, family: int, horizon: int) -> Float[np.ndarray, "time step"]:
        """From every origin."""
        steps = np.arange(1, horizon + 1)
        growth = np.stack([np.cumsum(factor**steps) for factor in DAMPING])
        result = self.level[:, family, None] + self.trend[:, family] @ growth
        period = self.season.shape[-1]
        phase = (np.arange(len(result))[:, None] + steps) % period
        return result + np.take_along_axis(self.season[:, family], phase, 1)


def smooth(values: Float[np.ndarray, " time"], period: int) -> Smoothed:
    """Run the grid over a series; missing values (NaN) leave the state to its own course."""
    seasonal = period > 1
    grid = Grid.build(seasonal)
    families = 4 if seasonal else 2
    level, trend, season = _initial_state(values, period, grid)
    count = len(values)
    states = Smoothed(
        np.zeros((count, families)), np.zeros((count, families, len(DAMPING))), np.zeros((count, families, period))
    )
    scale = typical_change(values, max(2 * period, 8))
    errors, weight = np.full(len(grid.level), PRIOR_STEPS * scale), PRIOR_STEPS
    members = [np.flatnonzero(grid.family == number) for number in range(families)]
    damped = [[some[grid.damping[some] == factor] for factor in DAMPING] for some in members]
    moving = np.flatnonzero(grid.season > 0)
    for time, value in enumerate(values):
        phase = time % period
        trend = grid.damping * trend
        level = level + trend
        if value == value:
            error = value - level - season[phase]
            errors = MEMORY * errors + np.abs(error)
            weight = MEMORY * weight + 1
            level = level + grid.level * error
            trend = trend + grid.level * grid.trend * error
            if seasonal:
                season[phase, moving] += (grid.season * (1 - grid.level) * error)[moving]
        fit = -weight * np.log(errors / weight + 1e-9 * scale)  # of a Laplace distribution
        for number, some in enumerate(members):
            share = np.exp(fit[some] - fit[some].max())
            share /= share.sum()
            states.level[time, number] = share @ level[some]
            if number % 2:
                whole = np.zeros(len(grid.level))
                whole[some] = share * trend[some]
                states.trend[time, number] = [whole[each].sum() for each in damped[number]]
            if number >= 2:
                states.season[time, number] = season[:, some] @ share
    return states


def _initial_state(
    values: Float[np.ndarray, " time"], period: int, grid: Grid
) -> tuple[Float[np.ndarray, " member"], Float[np.ndarray, " member"], Float[np.ndarray, "phase member"]]:
    """The level and the season of the first seasons; no trend."""
    first = values[: 2 * period] if period > 1 else values[:4]
    start = float(np.nanmedian(first)) if np.isfinite(first).any() else float(np.nanmedian(values))
    size = len(grid.level)
    season = np.zeros((period, size))
    if period > 1:
        profile = seasonal_profile(first, period)
        season[:] = np.where(grid.season > 0, profile[:, None], 0.0)
    return np.full(size, start), np.zeros(size), season


def seasonal_profile(values: Float[np.ndarray, " time"], period: int) -> Float[np.ndarray, " phase"]:
    """The mean difference from a straight line at each phase; sums to zero."""
    time = np.arange(len(values))
    known = np.isfinite(values)
    if known.sum() < 3:
        return np.zeros(period)
    slope = np.polyfit(time[known], values[known], 1) if known.sum() > period else [0.0, values[known].mean()]
    rest = values - np.polyval(slope, time)
    profile = np.array(
        [
            np.nanmean(part) if np.isfinite(part).any() else 0.0
            for part in (rest[phase::period] for phase in range(period))
        ]
    )
    return profile - profile.mean()


def typical_change(values: Float[np.ndarray, " time"], first: int) -> float:
    """The mean absolute change among the first values; of all of them if those do not change."""
    for some in (values[:first], values):
        known = some[np.isfinite(some)]
        change = np.abs(np.diff(known))
        if len(change) and change.any():
            return float(change.mean())
    return max(1e-9, 1e-6 * float(np.abs(known).mean()))
