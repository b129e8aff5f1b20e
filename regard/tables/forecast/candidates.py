"""Simple forecasts from every origin of a series, and their average by how well each has forecast so far.

Averages of simple methods are hard to beat (Makridakis et al., 2020). The weight of a method at an origin comes from
the errors of its earlier forecasts whose outcome was known there: a past forecast is as honest as the next one.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from regard.tables.forecast.autoregression import autoregress, fill_gaps
from regard.tables.forecast.smoothing import smooth

SEASONAL_NAIVE, SMOOTHING = "seasonal naive", "exponential smoothing"
MEMORY = 0.99  # weight of an error for each step that it is older
POWER = 6.0  # of the inverse error, as a weight
PRIOR_STEPS = 6.0  # errors that all methods share at first


@dataclass(frozen=True)
class Candidates:
    """Forecasts of each method from every origin, and their weighted average."""

    names: tuple[str, ...]
    forecasts: Float[np.ndarray, "method time step"]
    weights: Float[np.ndarray, "method time"]
    base: Float[np.ndarray, "time step"]  # the weighted average
    errors: Float[np.ndarray, "time step"]  # of the average, NaN where the outcome is unknown
    scale: Float[np.ndarray, "time step"]  # mean absolute error known at each origin

    def of(self, name: str) -> Float[np.ndarray, "time step"]:
        return self.forecasts[self.names.index(name)]


def forecast_candidates(values: Float[np.ndarray, " time"], periods: tuple[int, ...], horizon: int) -> Candidates:
    """`periods` are lengths of seasons, the most important one first; (1,) if there is none."""
    methods = _methods(values, periods, horizon)
    names, forecasts = tuple(methods), np.stack(list(methods.values()))
    errors = np.abs(outcomes(values, horizon) - forecasts)
    floor = 1e-12 + 1e-9 * np.maximum.accumulate(np.abs(fill_gaps(values)))  # of errors, for numbers to stay finite
    known = _known_errors(errors, floor)
    weights = known**-POWER
    weights /= weights.sum(0)
    base = (weights[:, :, None] * forecasts).sum(0)
    signed = outcomes(values, horizon) - base
    return Candidates(names, forecasts, weights, base, signed, _error_scale(np.abs(signed), values, floor))


def outcomes(values: Float[np.ndarray, " time"], horizon: int) -> Float[np.ndarray, "time step"]:
    """What followed each origin; NaN where it is missing or still to come."""
    padded = np.concatenate([values, np.full(horizon, np.nan)])
    return np.lib.stride_tricks.sliding_window_view(padded[1:], horizon)[: len(values)]


def _methods(
    values: Float[np.ndarray, " time"], periods: tuple[int, ...], horizon: int
) -> dict[str, Float[np.ndarray, "time step"]]:
    period = periods[0]
    methods = {SEASONAL_NAIVE: seasonal_naive(values, period, horizon)}
    if period > 1:
        methods["naive"] = seasonal_naive(values, 1, horizon)
    for steps in periods:
        if steps > 1:
            methods[f"shifted season of {steps}"] = shifted_season(values, steps, horizon)
    methods |= _smoothed(values, period, horizon, "")
    methods["autoregression"] = autoregress(values, period, horizon)
    known = values[np.isfinite(values)]
    if (known > 0).all() and known.max() > 1.5 * known.min():
        logs = np.log(values)
        most = np.maximum.accumulate(fill_gaps(logs))[:, None] + 2.0  # no growth beyond sevenfold
        for name, each in _smoothed(logs, period, horizon, " of logs").items():
            methods[name] = np.exp(np.minimum(each, most))
        methods["autoregression of logs"] = np.exp(autoregress(logs, period, horizon))
    return methods


def _smoothed(
    values: Float[np.ndarray, " time"], period: int, horizon: int, suffix: str
) -> dict[str, Float[np.ndarray, "time step"]]:
    states = smooth(values, period)
    steps = np.arange(1, horizon + 1)
    drift = _slopes(values)[:, None] * steps / 2  # Theta: half the trend (Assimakopoulos, 2000)
    seasons = {0: "level", 2: "seasonal level"} if period > 1 else {0: "level"}
    methods = {}
    for family, name in seasons.items():
        level = states.forecast(family, horizon)
        methods[f"{name}{suffix}"] = level
        methods[f"theta {name}{suffix}"] = level + drift
        methods[f"damped trend of {name}{suffix}"] = states.forecast(family + 1, horizon)
    return methods


def seasonal_naive(values: Float[np.ndarray, " time"], period: int, horizon: int) -> Float[np.ndarray, "time step"]:
    """The value of a whole number of seasons before; from every origin."""
    filled = fill_gaps(values)
    count = len(values)
    steps = np.arange(1, horizon + 1)
    back = steps - period * -(-steps // period)  # from -period + 1 to 0
    return filled[np.maximum(np.arange(count)[:, None] + back, 0)]


def shifted_season(values: Float[np.ndarray, " time"], period: int, horizon: int) -> Float[np.ndarray, "time step"]:
    """The seasonal naive forecast, shifted by how the last season's mean differs from that of the season before."""
    filled = fill_gaps(values)
    total = np.concatenate([[0.0], np.cumsum(filled)])
    ends = np.arange(1, len(filled) + 1)

    def mean(end: np.ndarray, size: int) -> np.ndarray:
        start = np.maximum(end - size, 0)
        return (total[end] - total[start]) / np.maximum(end - start, 1)

    steps = np.arange(1, horizon + 1)
    naive = seasonal_naive(values, period, horizon)
    near = min(period, max(7, period // 4))  # the level now, and at the same phase of the season before
    seasons = -(-steps // period)
    before = np.maximum(ends[:, None] - period * seasons, 1)
    return naive + np.where(before > near, mean(ends, near)[:, None] - mean(before, near), 0.0)


def _slopes(values: Float[np.ndarray, " time"]) -> Float[np.ndarray, " time"]:
    """The slope of least squares through all values up to each time."""
    known = np.isfinite(values)
    time, filled = np.arange(len(values), dtype=float), np.where(known, values, 0.0)
    count, first, second = np.cumsum(known), np.cumsum(time * known), np.cumsum(time * time * known)
    total, product = np.cumsum(filled), np.cumsum(time * filled)
    spread = count * second - first**2
    return np.where(count > 3, (count * product - first * total) / np.maximum(spread, 1.0), 0.0)


def _known_errors(
    errors: Float[np.ndarray, "method time step"], floor: Float[np.ndarray, " time"]
) -> Float[np.ndarray, "method time"]:
    """The discounted mean error of each method, of forecasts whose outcome was known at each time."""
    methods, count, horizon = errors.shape
    total, weight = np.zeros((methods, count)), np.zeros(count)
    for step in range(horizon):  # a forecast of step h from time t is judged at t + h
        part = errors[:, : max(0, count - step - 1), step]
        present = np.isfinite(part).all(0)
        total[:, step + 1 :] += np.where(present, part, 0.0)
        weight[step + 1 :] += present
    total, weight = discount(total, MEMORY), discount(weight[None], MEMORY)[0]
    typical = np.where(weight > 0, total.mean(0) / np.maximum(weight, 1e-9), 1.0)
    typical = np.maximum(typical, floor)
    prior = PRIOR_STEPS * min(horizon, 4)
    return (total + prior * typical) / (weight + prior)


def discount(values: Float[np.ndarray, "row time"], factor: float) -> Float[np.ndarray, "row time"]:
    """Sums over the past in which each value counts `factor` times as much with every step."""
    from scipy.signal import lfilter

    return np.asarray(lfilter([1.0], [1.0, -factor], values, axis=-1))


def _error_scale(
    errors: Float[np.ndarray, "time step"], values: Float[np.ndarray, " time"], floor: Float[np.ndarray, " time"]
) -> Float[np.ndarray, "time step"]:
    """The mean absolute error of each step known at each origin; few errors are completed by those of other steps."""
    count, horizon = errors.shape
    total, weight = np.zeros((horizon, count)), np.zeros((horizon, count))
    for step in range(horizon):
        part = errors[: max(0, count - step - 1), step]
        total[step, step + 1 :] = np.where(np.isfinite(part), part, 0.0)
        weight[step, step + 1 :] = np.isfinite(part)
    total, weight = discount(total, MEMORY), discount(weight, MEMORY)
    growth = np.sqrt(np.arange(1, horizon + 1))[:, None] ** 0.5
    filled = fill_gaps(values)
    change = np.abs(np.diff(filled, prepend=filled[:1]))
    start = np.cumsum(change) / np.arange(1, count + 1)
    pooled = (total / growth).sum(0) + 3 * start
    pooled = pooled / (weight.sum(0) + 3)
    pooled = np.maximum(pooled, floor)
    return ((total + 5 * growth * pooled) / (weight + 5)).T
