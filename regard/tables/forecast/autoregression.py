"""Autoregression by recursive least squares: coefficients at every time from the past alone (Plackett, 1950).

The next change is a linear function of earlier values, and of their mean, relative to the last one; a ridge penalty
draws it towards no change at all, the random walk. Forecasts of several steps feed on their own.
"""

import numpy as np
from jaxtyping import Float, Int

from regard.tables.forecast.smoothing import typical_change

MEMORY = 0.998  # weight of an equation for each step that it is older
RIDGE = 4.0  # in equations
MAX_LAG = 6  # of those next to the origin


def choose_lags(count: int, period: int) -> Int[np.ndarray, " lag"]:
    """How far before the last value: a few recent ones, and the two a season before the next one; fewer if short."""
    near = range(1, 1 + min(MAX_LAG, max(1, count // 15)))
    far = (period - 1, period) if 3 < period <= count // 3 else ()
    return np.unique([*near, *far])


def autoregress(values: Float[np.ndarray, " time"], period: int, horizon: int) -> Float[np.ndarray, "time step"]:
    """Forecasts from every origin; those without enough past are the last value."""
    filled = fill_gaps(values)
    count = len(filled)
    lags = choose_lags(count, period)
    deepest = int(lags.max()) + 1
    result = np.repeat(filled[:, None], horizon, 1)
    if count < deepest + 8:
        return result
    mean = np.cumsum(filled) / np.arange(1, count + 1)
    coefficients = _coefficients(filled, mean, lags, deepest)[deepest - 1 :]
    history = np.stack([filled[deepest - back - 1 : count - back] for back in range(deepest)], 1)  # newest first
    low, high = (each[deepest - 1 :] for each in _bounds(filled))
    for step in range(horizon):
        inputs = np.column_stack([history[:, lags], mean[deepest - 1 :]]) - history[:, :1]
        following = np.clip(history[:, 0] + (inputs * coefficients).sum(1), low, high)
        result[deepest - 1 :, step] = following
        history = np.concatenate([following[:, None], history[:, :-1]], 1)
    return result


def _coefficients(
    values: Float[np.ndarray, " time"], mean: Float[np.ndarray, " time"], lags: Int[np.ndarray, " lag"], deepest: int
) -> Float[np.ndarray, "time input"]:
    """Least squares over all equations up to each time, discounted."""
    scale = typical_change(values, deepest + 8)
    changes = np.cumsum(np.abs(np.diff(values))) / np.arange(1, len(values))
    size = len(lags) + 1
    inverse, current = np.eye(size) / (RIDGE * scale**2), np.zeros(size)
    result = np.zeros((len(values), size))
    for time in range(deepest, len(values)):
        inputs = np.append(values[time - 1 - lags], mean[time - 1]) - values[time - 1]
        gain = inverse @ inputs
        gain = gain / (MEMORY + inputs @ gain)
        error = values[time] - values[time - 1] - current @ inputs
        limit = 4 * changes[time - 1]
        current = current + gain * min(max(error, -limit), limit)  # an outlier is one equation, not the series
        inverse = (inverse - np.outer(gain, inputs @ inverse)) / MEMORY
        result[time] = current
    return result


def _bounds(values: Float[np.ndarray, " time"]) -> tuple[Float[np.ndarray, " time"], Float[np.ndarray, " time"]]:
    """How far iterated forecasts may run: half the range beyond what was seen up to each time."""
    low, high = np.minimum.accumulate(values), np.maximum.accumulate(values)
    return low - (high - low) / 2, high + (high - low) / 2


def fill_gaps(values: Float[np.ndarray, " time"]) -> Float[np.ndarray, " time"]:
    """The last known value in place of a missing one; the first known one before that."""
    places = np.where(np.isfinite(values), np.arange(len(values)), -1)
    places = np.maximum.accumulate(places)
    return values[np.where(places < 0, np.flatnonzero(np.isfinite(values))[0], places)]
